#include "analysis/tables/rows.h"

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

}  // namespace tally::analysis
