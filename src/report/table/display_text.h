// Formats untrusted text for a terminal. Names and source lines come from the application, so
// control characters never reach the terminal. Widths are in terminal cells, not in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/model/names.h"
#include "analysis/tables/table.h"
#include "report/table/output.h"

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

// Formats a table as text: a heading, column titles over a rule, rows, and notes.

struct TextOptions {
  // Cells per line. Wide columns shrink first; then the last value columns are omitted.
  size_t width = 120;
  // The option that shows the columns that are then missing.
  std::string_view remedy = "see --width, --columns";
};

// Writes line by line; only one row is in memory at a time.
void write_text_table(const analysis::Table& table, const TextOptions& options, const Output& out);
std::string text_table(const analysis::Table& table, const TextOptions& options);

// Tables as Markdown, for the job summaries and comments of code hosts. Names and source lines come
// from the application: they can neither end a cell nor become markup.

// A comment on GitHub has at most 65,536 characters; a job summary there has 1 MiB, and a comment
// on GitLab 1,000,000 characters. The text fits into each of them.
inline constexpr size_t kMaxMarkdownBytes = 65'000;

// A piece of code or a name, as it is.
std::string markdown_code(std::string_view text);
std::string markdown_text(std::string_view text);

// A document that ends before it is too long, and says so.
class MarkdownDocument {
 public:
  // Adds a paragraph or heading; false if it does not fit.
  bool add(std::string_view paragraph);
  // Adds the rows that fit, and their number where some do not.
  void add(const analysis::Table& table);
  std::string take() { return std::move(text_); }

 private:
  bool fits(size_t bytes) const { return text_.size() + bytes + kReserved <= kMaxMarkdownBytes; }
  static constexpr size_t kReserved = 200;  // for the line that says what is left out

  std::string text_;
  bool full_ = false;
};

}  // namespace tally::report
