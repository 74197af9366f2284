#include "analysis/tables/table_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "analysis/model/counts.h"

namespace tally::analysis {
namespace {

// Metrics that are shown where they are not all zero, the most telling first; JSON and --columns
// have all.
constexpr std::array kTelling = {
    "instructions", "fma",          "special_function",    "texture_samples",
    "image_loads",  "image_stores", "buffer_bytes_loaded", "buffer_bytes_stored",
    "atomics"};
constexpr size_t kMaxShown = 4;

Result<size_t> find_column(const Table& table, const std::string& id) {
  if (const auto index = table.column_index(id)) return *index;
  std::vector<std::string> ids;
  for (const Column& column : table.columns) ids.push_back(column.id);
  return Error{
      fmt::format("there is no column '{}' here; the columns are {}", id, fmt::join(ids, ", "))};
}

template <typename Test>
bool all_cells(const Table& table, size_t column, Test test) {
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (!test(table.rows.cell(r, column))) return false;
  }
  return true;
}

bool all_zero(const Table& table, size_t column) {
  return all_cells(table, column, [](const Cell& cell) { return number_of(cell) == 0; });
}

bool all_empty(const Table& table, size_t column) {
  return all_cells(table, column, [](const Cell& cell) {
    const auto* text = std::get_if<std::string>(&cell);
    return text != nullptr && text->empty();
  });
}

// Values that are 0 everywhere and keys that nothing has.
void hide_empty_columns(Table& table) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    Column& column = table.columns[i];
    const bool number = column.is_number() && column.role == ColumnRole::Value;
    if (number ? all_zero(table, i) : all_empty(table, i)) column.shown = false;
  }
}

void show_telling_metrics(Table& table) {
  size_t shown = 0;
  for (const char* id : kTelling) {
    const auto column = table.column_index(id);
    if (!column || shown == kMaxShown || all_zero(table, *column)) continue;
    table.columns[*column].shown = true;
    ++shown;
  }
}

// Leaves the columns of these places, in this order.
void take_columns(Table& table, const std::vector<size_t>& places) {
  std::vector<Column> columns;
  for (const size_t place : places) columns.push_back(std::move(table.columns[place]));
  table.columns = std::move(columns);
  table.rows.take_columns(places);
}

double total_of(const Table& table, size_t column, const std::vector<bool>& is_whole) {
  double total = 0;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (is_whole.empty() || is_whole[r]) total += number_of(table.rows.cell(r, column));
  }
  return total;
}

// Appends the share of the sorted column.
void append_share(Table& table, size_t sorted, double total) {
  table.rows.append_column(sorted, [total](const Cell& cell) -> Cell {
    return total > 0 ? 100 * number_of(cell) / total : 0.0;
  });
  Column column{.id = "share", .title = "share", .unit = Unit::Percent};
  column.description = fmt::format("percentage of all {}", table.columns[sorted].title);
  table.columns.push_back(std::move(column));
}

// Keys first, then the share and what it is a share of, then the other values and texts.
void place_share(Table& table, size_t sorted) {
  const size_t share = table.columns.size() - 1;
  std::vector<size_t> places;
  for (size_t i = 0; i < share; ++i) {
    if (table.columns[i].role == ColumnRole::Key) places.push_back(i);
  }
  places.push_back(share);
  places.push_back(sorted);
  for (size_t i = 0; i < share; ++i) {
    if (table.columns[i].role != ColumnRole::Key && i != sorted) places.push_back(i);
  }
  take_columns(table, places);
}

Status pick_columns(Table& table, const std::vector<std::string>& ids) {
  std::vector<size_t> picked;
  for (const std::string& id : ids) {
    const auto index = find_column(table, id);
    if (!index) return index.error();
    if (std::find(picked.begin(), picked.end(), *index) == picked.end()) picked.push_back(*index);
  }
  take_columns(table, picked);
  for (Column& column : table.columns) column.shown = true;
  return {};
}

Status sort_and_share(Table& table, const std::string& id, const std::vector<bool>& is_whole) {
  const auto sorted = find_column(table, id);
  if (!sorted) return sorted.error();
  const double total = total_of(table, *sorted, is_whole);
  sort_rows(table, *sorted);
  table.columns[*sorted].shown = true;
  const bool divisible = table.columns[*sorted].is_number() &&
                         table.columns[*sorted].role == ColumnRole::Value &&
                         table.columns[*sorted].unit != Unit::Percent;
  if (!divisible) return {};
  append_share(table, *sorted, total);
  place_share(table, *sorted);
  return {};
}

}  // namespace

void add_metric_columns(Table& table, const std::vector<Metric>& metrics) {
  for (const Metric& metric : metrics) {
    table.columns.push_back({.id = metric.id,
                             .title = metric.title,
                             .unit = metric.unit,
                             .role = ColumnRole::Value,
                             .description = metric.description,
                             .shown = false});
  }
}

void append_metrics(Row& row, const MetricMatrix& matrix, size_t index) {
  for (size_t metric = 0; metric < matrix.metric_count(); ++metric)
    row.emplace_back(matrix.at(index, metric));
}

Status finish_table(Table& table, const std::vector<Metric>& metrics, const TableOptions& options,
                    const std::vector<bool>& is_whole) {
  show_telling_metrics(table);
  hide_empty_columns(table);
  std::string sort = options.sort;
  if (sort.empty() && !metrics.empty()) sort = metrics[default_metric(metrics)].id;
  if (!sort.empty()) {
    if (Status status = sort_and_share(table, sort, is_whole); !status) return status;
  }
  keep_top(table, options.top);
  if (options.columns.empty()) return {};
  return pick_columns(table, options.columns);
}

}  // namespace tally::analysis
