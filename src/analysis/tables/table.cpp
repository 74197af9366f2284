#include "analysis/tables/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tally::analysis {

Rows::Rows(std::initializer_list<Row> rows) {
  for (const Row& row : rows) push_back(row);
}

Rows::Rows(std::vector<uint32_t> numbers, std::vector<MakeCell> columns,
           std::shared_ptr<const void> source)
    : numbers_(std::move(numbers)), columns_(std::move(columns)), sources_{std::move(source)} {}

void Rows::keep(std::shared_ptr<const void> source) { sources_.push_back(std::move(source)); }

void Rows::push_back(Row row) {
  numbers_.push_back(static_cast<uint32_t>(held_.size()));
  held_.push_back(std::move(row));
}

Cell Rows::cell(size_t row, size_t column) const {
  const uint32_t number = numbers_.at(row);
  return columns_.empty() ? held_[number].at(column) : columns_.at(column)(number);
}

void Rows::reorder(const std::vector<uint32_t>& indices) {
  std::vector<uint32_t> reordered;
  reordered.reserve(indices.size());
  for (const uint32_t index : indices) reordered.push_back(numbers_[index]);
  numbers_ = std::move(reordered);
}

void Rows::truncate(size_t count) {
  if (count < numbers_.size()) numbers_.resize(count);
}

void Rows::make_columns(size_t count) {
  if (!columns_.empty()) return;
  const auto held = std::make_shared<const std::vector<Row>>(std::exchange(held_, {}));
  for (size_t column = 0; column < count; ++column) {
    columns_.push_back([held, column](size_t number) { return (*held)[number].at(column); });
  }
}

void Rows::select_columns(const std::vector<size_t>& indices) {
  if (empty()) return;
  if (!held_.empty()) make_columns(held_.front().size());
  std::vector<MakeCell> taken;
  for (const size_t index : indices) taken.push_back(columns_.at(index));
  columns_ = std::move(taken);
}

void Rows::append_column(size_t from, std::function<Cell(const Cell&)> make) {
  if (empty()) return;
  if (!held_.empty()) make_columns(held_.front().size());
  columns_.push_back([source = columns_.at(from), make = std::move(make)](size_t number) {
    return make(source(number));
  });
}

void Rows::append_column(size_t first, size_t second,
                         std::function<Cell(const Cell&, const Cell&)> make) {
  if (empty()) return;
  if (!held_.empty()) make_columns(held_.front().size());
  columns_.push_back([a = columns_.at(first), b = columns_.at(second), make = std::move(make)](
                         size_t number) { return make(a(number), b(number)); });
}

void Rows::append_ratio(std::vector<size_t> over, std::vector<size_t> under) {
  if (empty()) return;
  if (!held_.empty()) make_columns(held_.front().size());
  const auto sum_of = [this](const std::vector<size_t>& of) {
    std::vector<MakeCell> cells;
    for (const size_t column : of) cells.push_back(columns_.at(column));
    return [cells = std::move(cells)](size_t number) -> std::optional<double> {
      double sum = 0;
      for (const MakeCell& cell : cells) {
        const Cell value = cell(number);
        if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
        sum += number_of(value);
      }
      return sum;
    };
  };
  columns_.push_back([over = sum_of(over), under = sum_of(under)](size_t number) -> Cell {
    const auto a = over(number), b = under(number);
    if (!a || !b || *b == 0) return {};
    return *a / *b;
  });
}

namespace {

// Compares two counts exactly: doubles cannot distinguish neighbouring counts above 2^53.
bool larger(const Cell& a, const Cell& b) {
  const auto* x = std::get_if<uint64_t>(&a);
  const auto* y = std::get_if<uint64_t>(&b);
  if (x != nullptr && y != nullptr) return *x > *y;
  return number_of(a) > number_of(b);
}

bool before_in_text(const Cell& a, const Cell& b) {
  const auto* x = std::get_if<std::string>(&a);
  const auto* y = std::get_if<std::string>(&b);
  if (x != nullptr && y != nullptr) return *x < *y;
  return x != nullptr && y == nullptr;
}

}  // namespace

std::optional<size_t> Table::column_index(const std::string& column_id) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].id == column_id) return i;
  }
  return std::nullopt;
}

double number_of(const Cell& cell) {
  if (const auto* count = std::get_if<uint64_t>(&cell)) return static_cast<double>(*count);
  if (const auto* ratio = std::get_if<double>(&cell)) return *ratio;
  return 0;
}

void sort_rows(Table& table, size_t column) {
  const Column& by = table.columns[column];
  std::vector<Cell> cells;
  cells.reserve(table.rows.size());
  for (size_t r = 0; r < table.rows.size(); ++r) cells.push_back(table.rows.cell(r, column));
  std::vector<uint32_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (!by.is_number()) return before_in_text(cells[a], cells[b]);
    const auto is_empty = [](const Cell& cell) {
      return std::holds_alternative<std::monostate>(cell);
    };
    if (by.low_is_worst && (is_empty(cells[a]) || is_empty(cells[b])))
      return is_empty(cells[b]) && !is_empty(cells[a]);
    const bool ascending = by.role == ColumnRole::Key || by.low_is_worst;
    return ascending ? larger(cells[b], cells[a]) : larger(cells[a], cells[b]);
  });
  table.rows.reorder(order);
  table.sorted_by = table.columns[column].id;
}

void keep_top(Table& table, size_t count) {
  table.total_rows = table.rows.size();
  if (count != 0) table.rows.truncate(count);
}

}  // namespace tally::analysis
