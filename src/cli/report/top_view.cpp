#include "cli/report/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <variant>

#include "base/text.h"
#include "report/table/display_text.h"

namespace tally::cli {
namespace {

using analysis::By;
using analysis::Column;
using analysis::Table;

constexpr int kEscape = 27;
constexpr int kDelete = 127;
constexpr size_t kMaxFilter = 200;
constexpr size_t kLinesAround = 3;  // the keys, the state, the status

struct Choice {
  char key;
  By by;
};
constexpr Choice kChoices[] = {{'1', By::Pass},     {'2', By::Shader}, {'3', By::Line},
                               {'4', By::Pipeline}, {'5', By::Draw},   {'6', By::Counter}};

std::string folded(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Moves a column before all measurements, so that a narrow terminal shows it.
void bring_forward(Table& table, size_t column) {
  if (!table.columns[column].is_number()) return;
  std::vector<size_t> order;
  bool placed = false;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].is_number() && !std::exchange(placed, true)) order.push_back(column);
    if (i != column) order.push_back(i);
  }
  std::vector<Column> columns;
  for (const size_t i : order) columns.push_back(table.columns[i]);
  table.columns = std::move(columns);
  table.rows.select_columns(order);
}

}  // namespace

void TopView::choose(By by) {
  if (by == by_) return;
  by_ = by;
  sort_.clear();
  reversed_ = false;
  scroll_ = 0;
  table_ = {};
}

size_t TopView::sort_column() const {
  std::vector<KnownName> known;
  for (const analysis::Column& column : table_.columns) known.push_back({column.id, column.title});
  const auto chosen = find_name("column", sort_.empty() ? table_.sorted_by : sort_, known);
  return chosen ? *chosen : 0;
}

void TopView::move_sort(int step) {
  if (table_.columns.empty()) return;
  const size_t count = table_.columns.size();
  const size_t next =
      (sort_column() + count + static_cast<size_t>(step + static_cast<int>(count))) % count;
  sort_ = table_.columns[next].id;
  reversed_ = false;
  scroll_ = 0;
}

// A key while the filter is typed.
bool TopView::type(int key) {
  if (key == kEscape) filter_.clear();
  if (key == kEscape || key == '\n' || key == '\r') {
    typing_ = false;
  } else if (key == kDelete || key == '\b') {
    while (!filter_.empty() && (static_cast<unsigned char>(filter_.back()) & 0xC0) == 0x80)
      filter_.pop_back();
    if (!filter_.empty()) filter_.pop_back();
  } else if (key >= ' ' && key < 256 && filter_.size() < kMaxFilter) {
    filter_ += static_cast<char>(key);
  }
  scroll_ = 0;
  return true;
}

bool TopView::press(int key) {
  if (typing_) return type(key);
  for (const Choice& choice : kChoices) {
    if (key == choice.key) choose(choice.by);
  }
  const auto back = [&](size_t rows) { scroll_ -= std::min(scroll_, rows); };
  switch (key) {
    case 'q':
    case 'Q':
    case 3:  // Ctrl-C
      return false;
    case ' ':
    case 'p':
      paused_ = !paused_;
      break;
    case '/':
      typing_ = true;
      break;
    case 'r':
      reversed_ = !reversed_;
      break;
    case '<':
    case static_cast<int>(TopKey::Left):
      move_sort(-1);
      break;
    case '>':
    case static_cast<int>(TopKey::Right):
      move_sort(1);
      break;
    case static_cast<int>(TopKey::Up):
      back(1);
      break;
    case static_cast<int>(TopKey::Down):
      ++scroll_;
      break;
    case static_cast<int>(TopKey::PageUp):
      back(page_);
      break;
    case static_cast<int>(TopKey::PageDown):
      scroll_ += page_;
      break;
    case static_cast<int>(TopKey::Home):
      scroll_ = 0;
      break;
    case static_cast<int>(TopKey::End):
      scroll_ = matching();
      break;
    default:
      break;
  }
  return true;
}

bool TopView::matches(size_t row) const {
  if (filter_.empty()) return true;
  for (size_t c = 0; c < table_.columns.size(); ++c) {
    const analysis::Cell cell = table_.rows.cell(row, c);
    const auto* text = std::get_if<std::string>(&cell);
    if (text && folded(*text).find(folded(filter_)) != std::string::npos) return true;
  }
  return false;
}

size_t TopView::matching() const {
  size_t count = 0;
  for (size_t r = 0; r < table_.rows.size(); ++r) count += matches(r) ? 1 : 0;
  return count;
}

Table TopView::chosen(size_t first, size_t count) const {
  Table table = table_;
  if (table.columns.empty()) return table;
  std::vector<uint32_t> rows;
  for (uint32_t r = 0; r < table.rows.size(); ++r) {
    if (matches(r)) rows.push_back(r);
  }
  table.rows.reorder(rows);
  const size_t column = sort_column();
  sort_rows(table, column);
  rows.clear();
  const size_t size = table.rows.size();
  for (size_t r = first; r < size && rows.size() < count; ++r) {
    rows.push_back(static_cast<uint32_t>(reversed_ ? size - 1 - r : r));
  }
  table.rows.reorder(rows);
  table.columns[column].shown = true;
  table.columns[column].title += reversed_ ? " ^" : " v";
  bring_forward(table, column);
  table.total_rows = rows.size();  // the state says how many there are
  table.notes.clear();
  table.sorted_by.clear();  // the column's title shows it
  return table;
}

std::vector<TopLine> TopView::lines(size_t width, size_t height) {
  std::vector<TopLine> lines;
  const auto add = [&](std::string_view text, bool marked) {
    if (lines.size() < height)
      lines.push_back({report::shortened(report::printable(text), width), marked});
  };
  const size_t rows = matching();
  const size_t room = height > kLinesAround ? height - kLinesAround : 0;
  page_ = std::max<size_t>(room > 4 ? room - 4 : 1, 1);  // less heading, gap, titles and rule
  scroll_ = std::min(scroll_, rows > page_ ? rows - page_ : 0);
  add("1 passes  2 shaders  3 lines  4 pipelines  5 draws  6 counters   < > r sort   / filter   "
      "space pause   q quit",
      true);
  std::string state =
      fmt::format("by {}, {} of {} rows", analysis::kByNames[static_cast<size_t>(by_)], rows,
                  table_.rows.size());
  if (scroll_ != 0) state += fmt::format(" from {} on", scroll_ + 1);
  if (paused_) state += ", paused";
  if (!filter_.empty() || typing_) state += ", filter: " + filter_ + (typing_ ? "_" : "");
  add(state, false);
  if (!table_.columns.empty() && room > 0) {
    const std::vector<std::string> text =
        split_lines(report::text_table(chosen(scroll_, page_), {.width = width}));
    for (const std::string& line : text) {
      if (lines.size() + 1 < height) add(line, false);
    }
  }
  while (lines.size() + 1 < height) lines.push_back({});
  add(status_, true);
  return lines;
}

}  // namespace tally::cli
