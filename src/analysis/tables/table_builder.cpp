#include "analysis/tables/table_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <numeric>

#include "analysis/tables/summary.h"
#include "base/text.h"

namespace tally::analysis {

void add_notes(const Model& model, Table& table) {
  const Summary summary = summarize(model);
  uint64_t uncounted = 0;
  for (const Uncounted& entry : summary.uncounted) uncounted += entry.commands;
  if (!summary.uncounted.empty()) {
    table.notes.push_back(
        fmt::format("Not counted: {} shader(s) in {} command(s); the overview says why.",
                    summary.uncounted.size(), uncounted));
  }
  if (summary.commands_missing != 0) {
    table.notes.push_back(
        fmt::format("{} commands are missing; the overview says why.", summary.commands_missing));
  }
}

std::string debug_information_hint() {
  return "For source lines compile with debug information: glslangValidator -gVS, glslc -g, "
         "dxc -fspv-debug=vulkan-with-source, slangc -g3.";
}

namespace {

// The number of preferred metrics that a table shows. JSON and --columns offer all metrics.
constexpr size_t kMaxShown = 4;

Result<size_t> find_column(const Table& table, const std::string& id) {
  std::vector<KnownName> known;
  for (const Column& column : table.columns) known.push_back({column.id, column.title});
  return find_name("column", id, known);
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

// Hides values that are 0 everywhere and keys that are empty everywhere.
void hide_empty_columns(Table& table) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    Column& column = table.columns[i];
    const bool number = column.is_number() && column.role == ColumnRole::Value;
    if (number ? all_zero(table, i) : all_empty(table, i)) column.shown = false;
  }
}

void show_preferred_metrics(Table& table) {
  size_t shown = 0;
  for (const std::string_view id : preferred_metrics()) {
    const auto column = table.column_index(std::string(id));
    if (!column || shown == kMaxShown || all_zero(table, *column)) continue;
    table.columns[*column].shown = true;
    ++shown;
  }
}

// Keeps the columns at these indices, in this order.
void select_columns(Table& table, const std::vector<size_t>& indices) {
  std::vector<Column> columns;
  for (const size_t index : indices) columns.push_back(std::move(table.columns[index]));
  table.columns = std::move(columns);
  table.rows.select_columns(indices);
}

double total_of(const Table& table, size_t column, const std::vector<bool>& is_whole) {
  double total = 0;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (is_whole.empty() || is_whole[r]) total += number_of(table.rows.cell(r, column));
  }
  return total;
}

void append_share(Table& table, size_t sorted, double total) {
  table.rows.append_column(sorted, [total](const Cell& cell) -> Cell {
    return total > 0 ? 100 * number_of(cell) / total : 0.0;
  });
  Column column{.id = "share", .title = "share", .unit = Unit::Percent};
  column.description = fmt::format("percentage of all {}", table.columns[sorted].title);
  table.columns.push_back(std::move(column));
}

// Orders the columns: keys, then what ranks the rows, the share (if there is one, it is the last
// column) and the column that it refers to, then other values and texts.
void place_sorted(Table& table, size_t sorted, size_t ranked, bool has_share) {
  const size_t share = table.columns.size() - 1, count = share + (has_share ? 0 : 1);
  std::vector<size_t> indices;
  for (size_t i = 0; i < count; ++i) {
    if (table.columns[i].role == ColumnRole::Key) indices.push_back(i);
  }
  if (ranked != sorted) indices.push_back(ranked);
  if (has_share) indices.push_back(share);
  if (table.columns[sorted].role != ColumnRole::Key) indices.push_back(sorted);
  for (size_t i = 0; i < count; ++i) {
    if (table.columns[i].role != ColumnRole::Key && i != sorted && i != ranked)
      indices.push_back(i);
  }
  select_columns(table, indices);
}

Status pick_columns(Table& table, const std::vector<std::string>& ids) {
  std::vector<size_t> picked;
  for (const std::string& id : ids) {
    const auto index = find_column(table, id);
    if (!index && id == "share" && ids.size() > 1) continue;  // a note says why there is none
    if (!index) return index.error();
    if (std::find(picked.begin(), picked.end(), *index) == picked.end()) picked.push_back(*index);
  }
  select_columns(table, picked);
  for (Column& column : table.columns) column.shown = true;
  return {};
}

// Where rows lack a value, says so and returns true.
bool note_lacking_rows(Table& table, size_t sorted, const std::vector<bool>& is_whole) {
  const Column& column = table.columns[sorted];
  size_t lacking = 0;
  for (size_t r = 0; !column.lacking && r < table.rows.size(); ++r) {
    const bool counts = is_whole.empty() || is_whole[r];
    lacking += counts && std::holds_alternative<std::monostate>(table.rows.cell(r, sorted)) ? 1 : 0;
  }
  lacking = column.lacking.value_or(lacking);
  if (lacking == 0) {
    if (column.no_share_because.empty()) return false;
    table.notes.push_back(fmt::format("No share: {}.", column.no_share_because));
    return true;
  }
  table.notes.push_back(
      fmt::format("No share: {} of {} rows lack {}{}{}.", lacking, table.rows.size(), column.title,
                  column.lacking_because.empty() ? "" : ": ", column.lacking_because));
  return true;
}

Status sort_and_share(Table& table, const std::string& id, const std::vector<bool>& is_whole) {
  const auto sorted = TALLY_TRY(find_column(table, id));
  const bool divisible =
      table.columns[sorted].is_number() && table.columns[sorted].role == ColumnRole::Value &&
      table.columns[sorted].unit != Unit::Percent && table.columns[sorted].adds_up;
  const std::string& ranked_by = table.columns[sorted].ranked_by;
  const size_t ranked = ranked_by.empty() ? sorted : *table.column_index(ranked_by);
  const bool has_share = divisible && !note_lacking_rows(table, sorted, is_whole);
  const double total = total_of(table, sorted, is_whole);
  sort_rows(table, ranked);
  table.columns[sorted].shown = table.columns[ranked].shown = true;
  if (has_share) append_share(table, sorted, total);
  if (table.columns[sorted].role == ColumnRole::Value)
    place_sorted(table, sorted, ranked, has_share);
  return {};
}

void note_uncounted_subgroups(Table& table, size_t lanes) {
  const auto executions = table.column_index("executions");
  size_t rows = 0;
  for (size_t r = 0; executions && r < table.rows.size(); ++r) {
    if (number_of(table.rows.cell(r, *executions)) == 0) continue;
    if (number_of(table.rows.cell(r, lanes)) == 0) ++rows;
  }
  if (rows == 0) return;
  table.notes.push_back(fmt::format(
      "{} row(s) have no SIMD efficiency: the driver cannot count the subgroups of their shaders "
      "(tally doctor).",
      rows));
}

// Moves the last column before the first text.
void place_before_text(Table& table) {
  std::vector<size_t> indices(table.columns.size() - 1);
  std::iota(indices.begin(), indices.end(), size_t{0});
  const auto text = std::ranges::find(table.columns, ColumnRole::Text, &Column::role);
  const auto at = std::min<size_t>(text - table.columns.begin(), indices.size());
  indices.insert(indices.begin() + static_cast<ptrdiff_t>(at), table.columns.size() - 1);
  select_columns(table, indices);
}

// Where subgroups are counted.
void append_efficiency(Table& table) {
  const auto executions = table.column_index("subgroup_executions");
  const auto lanes = table.column_index("subgroup_lanes");
  if (!executions || !lanes) return;
  note_uncounted_subgroups(table, *lanes);
  if (all_zero(table, *lanes)) return;
  table.rows.append_column(*executions, *lanes, [](const Cell& a, const Cell& b) {
    return efficiency(static_cast<uint64_t>(number_of(a)), static_cast<uint64_t>(number_of(b)));
  });
  table.columns.push_back(efficiency_column());
  place_before_text(table);
}

constexpr std::string_view kBytes[] = {"buffer_bytes_loaded", "buffer_bytes_stored",
                                       "uniform_bytes_loaded"};
// A multiply-add is two operations.
constexpr std::string_view kOperations[] = {
    "fma",   "fma",      "float16", "float32",    "float64",          "int8",      "int16", "int32",
    "int64", "division", "logic",   "conversion", "special_function", "derivative"};

// The columns with these ids; empty if the table lacks one.
template <typename Ids>
std::vector<size_t> columns_of(const Table& table, const Ids& ids) {
  std::vector<size_t> columns;
  for (const std::string_view id : ids) {
    const auto column = table.column_index(std::string(id));
    if (!column) return {};
    columns.push_back(*column);
  }
  return columns;
}

void append_ratio(Table& table, const std::vector<size_t>& over, const std::vector<size_t>& under,
                  Column column) {
  if (over.empty() || under.empty()) return;
  column.unit = Unit::Count;
  column.shown = column.adds_up = false;
  table.rows.append_ratio(over, under);
  table.columns.push_back(std::move(column));
  place_before_text(table);
}

// Tables with metrics of a driver of its own have none.
void append_ratios(Table& table) {
  const std::vector<size_t> bytes = columns_of(table, kBytes);
  append_ratio(
      table, columns_of(table, kOperations), bytes,
      {.id = "operations_per_byte",
       .title = "operations/byte",
       .description = "arithmetic, a multiply-add as two operations, divided by the bytes that are "
                      "loaded from or stored to buffers"});
  append_ratio(table, columns_of(table, kBytes),
               columns_of(table, std::array<std::string_view, 1>{"invocations"}),
               {.id = "bytes_per_invocation",
                .title = "bytes/inv",
                .description = "bytes loaded from or stored to buffers, divided by invocations"});
}

}  // namespace

Cell efficiency(uint64_t executions, uint64_t lanes) {
  if (lanes == 0) return {};
  return 100 * static_cast<double>(executions) / static_cast<double>(lanes);
}

Column efficiency_column() {
  return {.id = "simd_efficiency",
          .title = "SIMD efficiency",
          .unit = Unit::Percent,
          .description =
              "executions as a percentage of the lanes of the subgroups that executed; "
              "of the stages whose subgroups are counted",
          .low_is_worst = true};
}

void add_metric_columns(Table& table, const std::vector<Metric>& metrics) {
  for (const Metric& metric : metrics) {
    table.columns.push_back({.id = metric.id,
                             .title = metric.title,
                             .unit = metric.unit,
                             .role = ColumnRole::Value,
                             .description = metric.description,
                             .shown = false,
                             .lacking_because = "they ran without being counted"});
  }
}

namespace {

bool has_value_per_invocation(const Metric& metric) {
  return metric.device || metric.id == "instructions";
}

}  // namespace

Column invocations_column(const std::string& of) {
  return {.id = "invocations",
          .title = "invocations",
          .unit = Unit::Count,
          .description = "invocations of the " + of + ", without helpers",
          .shown = false,
          .adds_up = false};
}

void add_per_invocation_columns(Table& table, const std::vector<Metric>& metrics) {
  for (const Metric& metric : metrics) {
    if (!has_value_per_invocation(metric)) continue;
    table.columns.push_back({.id = metric.id + "_per_invocation",
                             .title = metric.title + "/inv",
                             .unit = Unit::Count,
                             .description = metric.title + " divided by invocations",
                             .shown = false,
                             .adds_up = false});
  }
}

void append_per_invocation(Row& row, const std::vector<Metric>& metrics,
                           const std::vector<uint64_t>& values, uint64_t invocations) {
  for (size_t m = 0; m < metrics.size(); ++m) {
    if (!has_value_per_invocation(metrics[m])) continue;
    row.push_back(invocations == 0
                      ? Cell()
                      : Cell(static_cast<double>(values[m]) / static_cast<double>(invocations)));
  }
}

void note_uncounted_runs(Table& table, const std::vector<Metric>& metrics, const Runs& runs) {
  for (Column& column : table.columns) {
    const bool is_metric = std::ranges::find(metrics, column.id, &Metric::id) != metrics.end();
    if (is_metric || column.id == "executions" || column.id.starts_with("invocations"))
      column.no_share_because = uncounted_text(runs);
  }
}

void append_metrics(Row& row, const MetricMatrix& matrix, size_t index) {
  for (size_t metric = 0; metric < matrix.metric_count(); ++metric)
    row.emplace_back(matrix.at(index, metric));
}

std::string column_id(const std::string& name) {
  std::string id;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!plain && !id.empty() && id.back() != '_') id += '_';
  }
  while (id.ends_with('_')) id.pop_back();
  return id;
}

Status finish_table(Table& table, const std::vector<Metric>& metrics, const TableOptions& options,
                    const std::vector<bool>& is_whole) {
  show_preferred_metrics(table);
  append_efficiency(table);
  append_ratios(table);
  hide_empty_columns(table);
  std::string sort = options.sort;
  if (sort.empty() && !metrics.empty()) sort = metrics[default_metric(metrics)].id;
  if (!sort.empty()) {
    TALLY_TRY(sort_and_share(table, sort, is_whole));
  }
  keep_top(table, options.top);
  if (options.columns.empty()) return {};
  return pick_columns(table, options.columns);
}

Status finish_in_order(Table& table, const TableOptions& options) {
  append_efficiency(table);
  hide_empty_columns(table);
  if (options.columns.empty()) return {};
  return pick_columns(table, options.columns);
}

}  // namespace tally::analysis
