// The rows of a table as comma-separated values (RFC 4180) and as JSON lines. Both hold what
// `tally report --format json` holds of the table, value by value.
#pragma once

#include "analysis/tables/table.h"
#include "report/output.h"

namespace tally::report {

enum class CsvTexts {
  Escaped,  // an apostrophe precedes a text that a spreadsheet would take for a formula
  Verbatim,
};

// The first line holds the columns' ids. A value that is not known is empty; an empty text is "".
void write_csv(const analysis::Table& table, CsvTexts texts, const Output& out);

// One JSON object for each row, by the columns' ids.
void write_json_lines(const analysis::Table& table, const Output& out);

}  // namespace tally::report
