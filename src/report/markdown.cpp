#include "report/markdown.h"

#include <fmt/format.h>

#include <vector>

#include "report/display_text.h"
#include "report/values.h"

namespace tally::report {
namespace {

std::string row_of(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else {
      if (std::string_view("\\`*_[]|#~@!$").find(c) != std::string_view::npos) safe += '\\';
      safe += c;
    }
  }
  return safe;
}

// HTML, because a code span of Markdown cannot hold every text in a table.
std::string markdown_code(std::string_view text) {
  return text.empty() ? std::string() : "<code>" + markdown_text(text) + "</code>";
}

bool MarkdownDocument::add(std::string_view paragraph) {
  if (full_) return false;
  if (!fits(paragraph.size() + 2)) {
    full_ = true;
    text_ += "The rest is left out: it would be too long here.\n";
    return false;
  }
  text_ += std::string(paragraph) + "\n\n";
  return true;
}

void MarkdownDocument::add(const analysis::Table& table) {
  std::vector<size_t> shown;
  std::vector<std::string> titles, rules;
  std::vector<ColumnFormat> formats;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (!table.columns[c].shown) continue;
    shown.push_back(c);
    titles.push_back(markdown_text(table.columns[c].title));
    rules.push_back(table.columns[c].is_number() ? "--:" : "---");
    formats.emplace_back(table, c);
  }
  if (!add("### " + markdown_text(table.title))) return;
  const std::string head = row_of(titles) + row_of(rules);
  if (!fits(head.size())) return void(add(head));
  text_ += head;
  size_t rows = 0;
  for (; rows < table.rows.size(); ++rows) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < shown.size(); ++i) {
      const std::string text = formats[i].text(table.rows.cell(rows, shown[i]));
      cells.push_back(table.columns[shown[i]].is_number() ? markdown_text(text)
                                                          : markdown_code(text));
    }
    const std::string row = row_of(cells);
    if (!fits(row.size())) break;
    text_ += row;
  }
  const size_t left_out = std::max(table.total_rows, table.rows.size()) - rows;
  text_ += "\n";
  if (left_out != 0) text_ += fmt::format("and {}\n\n", counted(left_out, "more row"));
  for (const std::string& note : table.notes) add(markdown_text(note));
}

}  // namespace tally::report
