// The tables of docs/reference/capture-format.md, made from the definitions of the columns.
#pragma once

#include <string>
#include <string_view>

namespace tally::store {

// `page` with the table of each section regenerated. They stand between the lines
// "<!-- tables: definitions -->" (or events, values, regions) and "<!-- end of tables -->".
std::string document_tables(std::string_view page);

}  // namespace tally::store
