// Formats a table as text: a heading, column titles over a rule, rows, and notes.
#pragma once

#include <string>
#include <string_view>

#include "analysis/tables/table.h"
#include "report/output.h"

namespace tally::report {

struct TextOptions {
  // Cells per line. Wide columns shrink first; then the last value columns are omitted.
  size_t width = 120;
  // The option that shows the columns that are then missing.
  std::string_view remedy = "see --width, --columns";
};

// Writes line by line; only one row is in memory at a time.
void write_text_table(const analysis::Table& table, const TextOptions& options, const Output& out);
std::string text_table(const analysis::Table& table, const TextOptions& options);

}  // namespace tally::report
