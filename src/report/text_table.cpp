#include "report/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/display_text.h"
#include "report/values.h"

namespace tally::report {
namespace {

using analysis::Column;
using analysis::ColumnRole;
using analysis::Table;

constexpr size_t kGap = 2;
constexpr size_t kMinTextWidth = 24;
constexpr size_t kMinKeyWidth = 20;

// One column that is shown: its title, how its cells are written, and how wide they may be.
struct Strip {
  const Column* column;
  size_t index;
  ColumnFormat format;
  std::string title;
  size_t width;

  bool can_shrink() const { return !column->is_number(); }
  size_t least() const {
    const size_t floor = column->role == ColumnRole::Text ? kMinTextWidth : kMinKeyWidth;
    return std::min(width, std::max(floor, display_width(title)));
  }
};

std::string text_of(const Table& table, const Strip& strip, size_t row) {
  return printable(strip.format.text(table.rows.cell(row, strip.index)));
}

Strip make_strip(const Table& table, size_t index) {
  const Column& column = table.columns[index];
  Strip strip{&column, index, ColumnFormat(table, index), printable(column.title), 0};
  strip.width = display_width(strip.title);
  for (size_t r = 0; r < table.rows.size(); ++r)
    strip.width = std::max(strip.width, display_width(text_of(table, strip, r)));
  return strip;
}

size_t line_width(const std::vector<Strip>& strips) {
  size_t width = 0;
  for (const Strip& strip : strips) width += strip.width + kGap;
  return width;
}

// Text first, then keys, the widest of them each time.
void shrink(std::vector<Strip>& strips, size_t width) {
  for (const ColumnRole role : {ColumnRole::Text, ColumnRole::Key}) {
    for (Strip& strip : strips) {
      const size_t have = line_width(strips);
      if (have <= width) return;
      if (strip.column->role != role || !strip.can_shrink()) continue;
      const size_t excess = have - width;
      const size_t least = strip.least();
      strip.width = strip.width > least + excess ? strip.width - excess : least;
    }
  }
}

// Leaves out the last values until the line fits with every text at its least; says how many.
size_t drop_values(std::vector<Strip>& strips, size_t width) {
  const auto least_line = [&] {
    size_t sum = 0;
    for (const Strip& s : strips) sum += (s.can_shrink() ? s.least() : s.width) + kGap;
    return sum;
  };
  size_t dropped = 0;
  while (least_line() > width) {
    const auto last = std::find_if(strips.rbegin(), strips.rend(), [](const Strip& s) {
      return s.column->role == ColumnRole::Value;
    });
    if (last == strips.rend() || strips.size() == 1) break;
    strips.erase(std::next(last).base());
    ++dropped;
  }
  return dropped;
}

std::string placed(const Strip& strip, const std::string& text, bool last) {
  if (strip.column->is_number()) return right_aligned(text, strip.width);
  const std::string cut = shortened(text, strip.width);
  return last ? cut : left_aligned(cut, strip.width);
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

template <typename CellText>
std::string line_of(const std::vector<Strip>& strips, CellText cell_text) {
  std::string line;
  for (size_t i = 0; i < strips.size(); ++i) {
    line +=
        std::string(kGap, ' ') + placed(strips[i], cell_text(strips[i]), i + 1 == strips.size());
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

std::vector<Strip> shown_strips(const Table& table) {
  std::vector<Strip> strips;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].shown) strips.push_back(make_strip(table, i));
  }
  return strips;
}

}  // namespace

void write_text_table(const Table& table, const TextOptions& options, const Output& out) {
  std::vector<Strip> strips = shown_strips(table);
  const size_t dropped = drop_values(strips, options.width);
  shrink(strips, options.width);

  out(heading(table) + "\n");
  if (table.rows.empty()) {
    out("  (nothing)\n");
  } else {
    out(line_of(strips, [](const Strip& s) { return s.title; }));
    out(line_of(strips, [](const Strip& s) { return std::string(s.width, '-'); }));
    for (size_t r = 0; r < table.rows.size(); ++r)
      out(line_of(strips, [&](const Strip& s) { return text_of(table, s, r); }));
  }
  for (const std::string& note : table.notes) out(wrapped(printable(note), options.width));
  if (dropped != 0)
    out(fmt::format("  ({} more: --width, --columns)\n", counted(dropped, "column")));
}

std::string text_table(const Table& table, const TextOptions& options) {
  std::string text;
  write_text_table(table, options, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace tally::report
