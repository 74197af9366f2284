#include "analysis/tables/table.h"

#include <algorithm>
#include <numeric>

namespace tally::analysis {
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
    return by.role == ColumnRole::Key ? larger(cells[b], cells[a]) : larger(cells[a], cells[b]);
  });
  table.rows.reorder(order);
  table.sorted_by = table.columns[column].id;
}

void keep_top(Table& table, size_t count) {
  table.total_rows = table.rows.size();
  if (count != 0) table.rows.truncate(count);
}

}  // namespace tally::analysis
