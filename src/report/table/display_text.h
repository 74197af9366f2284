// Formats untrusted text for a terminal. Names and source lines come from the application, so
// control characters never reach the terminal. Widths are in terminal cells, not in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/model/names.h"
#include "analysis/tables/table.h"

namespace tally::report {

// UTF-8 that is safe to print on one line: tabs become spaces up to the next multiple of 4; other
// control characters and malformed bytes become U+FFFD.
std::string printable(std::string_view text);

// The number of terminal cells of printable text: 0 for combining marks, 2 for East Asian wide
// characters and emoji.
size_t display_width(std::string_view text);

// Shortens `text` to at most `width` cells; "…" marks the cut at the end.
std::string shortened(std::string_view text, size_t width);

// Wraps printable text at spaces into lines of at most `width` cells. Each line is indented by two
// spaces and ends with a newline.
std::string wrapped(std::string_view text, size_t width);

// A word of a command line as a user would type it.
std::string shell_word(const std::string& word);

// Pads `text` with spaces to `width` cells.
std::string left_aligned(std::string_view text, size_t width);
std::string right_aligned(std::string_view text, size_t width);

// Formats single values for display. JSON contains the raw values.

using analysis::counted;
using analysis::with_separators;

// 1234567 ns -> "1.235 ms"; four significant digits above one nanosecond.
std::string duration_text(double nanoseconds);

// 1536 -> "1.500 KiB"; exact below 1 KiB.
std::string bytes_text(double bytes);

// The format of the numbers in one column: all have the same unit and number of decimals, so that
// they are easy to compare.
class ColumnFormat {
 public:
  ColumnFormat(const analysis::Table& table, size_t column);
  // Empty cells give an empty text.
  std::string text(const analysis::Cell& cell) const;

 private:
  analysis::Unit unit_;
  std::string zero_;         // shown instead of 0
  bool fractional_ = false;  // some numbers are not integers
  double divisor_ = 1;
  std::string suffix_;
  int decimals_ = 0;
};

// "count", "ns", "bytes", "percent" or "", as JSON and the documentation name units.
std::string unit_name(analysis::Unit unit);

}  // namespace tally::report
