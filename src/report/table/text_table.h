// Formats a table as text: a heading, column titles over a rule, rows, and notes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "analysis/tables/table.h"
#include "report/table/output.h"

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
