#include "report/table/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/table/display_text.h"

namespace tally::report {
namespace {

using analysis::Column;
using analysis::ColumnRole;
using analysis::Table;

constexpr size_t kGap = 2;
constexpr size_t kMinTextWidth = 24;
constexpr size_t kMinKeyWidth = 20;

// The layout of a shown column: its title, the format of its cells, and its width.
struct ColumnLayout {
  const Column* column;
  size_t index;
  ColumnFormat format;
  std::string title;
  size_t width;

  bool can_shrink() const { return !column->is_number(); }
  size_t min_width() const {
    const size_t floor = column->role == ColumnRole::Text ? kMinTextWidth : kMinKeyWidth;
    return std::min(width, std::max(floor, display_width(title)));
  }
};

std::string text_of(const Table& table, const ColumnLayout& layout, size_t row) {
  return printable(layout.format.text(table.rows.cell(row, layout.index)));
}

ColumnLayout make_layout(const Table& table, size_t index) {
  const Column& column = table.columns[index];
  ColumnLayout layout{&column, index, ColumnFormat(table, index), printable(column.title), 0};
  layout.width = display_width(layout.title);
  for (size_t r = 0; r < table.rows.size(); ++r)
    layout.width = std::max(layout.width, display_width(text_of(table, layout, r)));
  return layout;
}

size_t line_width(const std::vector<ColumnLayout>& layouts) {
  size_t width = 0;
  for (const ColumnLayout& layout : layouts) width += layout.width + kGap;
  return width;
}

// Shrinks text columns first, then key columns, until the line fits or all have their minimum
// width.
void shrink(std::vector<ColumnLayout>& layouts, size_t width) {
  for (const ColumnRole role : {ColumnRole::Text, ColumnRole::Key}) {
    for (ColumnLayout& layout : layouts) {
      const size_t have = line_width(layouts);
      if (have <= width) return;
      if (layout.column->role != role || !layout.can_shrink()) continue;
      const size_t excess = have - width;
      const size_t min_width = layout.min_width();
      layout.width = layout.width > min_width + excess ? layout.width - excess : min_width;
    }
  }
}

// Omits the last value columns until the line fits with all texts at their minimum width. Returns
// the number of omitted columns.
size_t drop_values(std::vector<ColumnLayout>& layouts, size_t width) {
  const auto min_line_width = [&] {
    size_t sum = 0;
    for (const ColumnLayout& s : layouts) sum += (s.can_shrink() ? s.min_width() : s.width) + kGap;
    return sum;
  };
  size_t dropped = 0;
  while (min_line_width() > width) {
    const auto last = std::find_if(layouts.rbegin(), layouts.rend(), [](const ColumnLayout& s) {
      return s.column->role == ColumnRole::Value;
    });
    if (last == layouts.rend() || layouts.size() == 1) break;
    layouts.erase(std::next(last).base());
    ++dropped;
  }
  return dropped;
}

std::string aligned(const ColumnLayout& layout, const std::string& text, bool last) {
  if (layout.column->is_number()) return right_aligned(text, layout.width);
  const std::string cut = shortened(text, layout.width);
  return last ? cut : left_aligned(cut, layout.width);
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

template <typename CellText>
std::string line_of(const std::vector<ColumnLayout>& layouts, CellText cell_text) {
  std::string line;
  for (size_t i = 0; i < layouts.size(); ++i) {
    line += std::string(kGap, ' ') +
            aligned(layouts[i], cell_text(layouts[i]), i + 1 == layouts.size());
  }
  return without_trailing_spaces(std::move(line)) + "\n";
}

std::string heading(const Table& table) {
  std::string text = table.title;
  if (const auto column = table.column_index(table.sorted_by)) {
    text += ", by " + table.columns[*column].title;
  }
  if (table.total_rows > table.rows.size()) {
    text += fmt::format(" (first {} of {})", with_separators(table.rows.size()),
                        with_separators(table.total_rows));
  }
  return printable(text) + "\n";
}

std::vector<ColumnLayout> shown_columns(const Table& table) {
  std::vector<ColumnLayout> layouts;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].shown) layouts.push_back(make_layout(table, i));
  }
  return layouts;
}

}  // namespace

void write_text_table(const Table& table, const TextOptions& options, const Output& out) {
  std::vector<ColumnLayout> layouts = shown_columns(table);
  const size_t dropped = drop_values(layouts, options.width);
  shrink(layouts, options.width);

  out(heading(table) + "\n");
  if (table.rows.empty()) {
    out("  (no rows)\n");
  } else {
    out(line_of(layouts, [](const ColumnLayout& s) { return s.title; }));
    out(line_of(layouts, [](const ColumnLayout& s) { return std::string(s.width, '-'); }));
    for (size_t r = 0; r < table.rows.size(); ++r)
      out(line_of(layouts, [&](const ColumnLayout& s) { return text_of(table, s, r); }));
  }
  for (const std::string& note : table.notes) out(wrapped(printable(note), options.width));
  if (dropped != 0)
    out(fmt::format("  ({} not shown: {})\n", counted(dropped, "column"), options.remedy));
}

std::string text_table(const Table& table, const TextOptions& options) {
  std::string text;
  write_text_table(table, options, [&](std::string_view piece) { text += piece; });
  return text;
}

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
