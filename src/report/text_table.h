// A table as text: a heading, column titles over a rule, rows, and the table's notes.
#pragma once

#include <string>

#include "analysis/tables/table.h"
#include "report/output.h"

namespace tally::report {

struct TextOptions {
  size_t width =
      120;  // cells of a line; wide columns give way first, then the last values are left out
};

// Line by line: however many rows there are, only one is in memory.
void write_text_table(const analysis::Table& table, const TextOptions& options, const Output& out);
std::string text_table(const analysis::Table& table, const TextOptions& options);

}  // namespace tally::report
