// Shared by all tables of measurements: metric columns, the share of the total, the
// selection of columns, sorting and the number of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "analysis/model/metrics.h"
#include "analysis/model/model.h"
#include "analysis/tables/table.h"
#include "base/status.h"

namespace tally::analysis {

// A column of a table together with the function that makes its cells.

struct Field {
  Column column;
  std::function<Cell(size_t row)> cell;

  Field hidden() && {
    column.shown = false;
    return std::move(*this);
  }
};

inline Field key_field(std::string id, std::string title, std::string description,
                       std::function<Cell(size_t)> cell, Unit unit = Unit::None) {
  return {{.id = std::move(id),
           .title = std::move(title),
           .unit = unit,
           .role = ColumnRole::Key,
           .description = std::move(description)},
          std::move(cell)};
}

inline Field value_field(std::string id, std::string title, std::string description,
                         std::function<Cell(size_t)> cell, Unit unit = Unit::Count) {
  return {{.id = std::move(id),
           .title = std::move(title),
           .unit = unit,
           .role = ColumnRole::Value,
           .description = std::move(description)},
          std::move(cell)};
}

// "Draw calls" -> "draw_calls"
std::string column_id(const std::string& name);

inline void add_columns(Table& table, const std::vector<Field>& fields) {
  for (const Field& field : fields) table.columns.push_back(field.column);
}

inline Row make_row(const std::vector<Field>& fields, size_t index) {
  Row row;
  row.reserve(fields.size());
  for (const Field& field : fields) row.push_back(field.cell(index));
  return row;
}

// The notes that every table needs: what was not counted, and what is missing.

void add_notes(const Model& model, Table& table);

// The compiler options that keep source lines in SPIR-V.
std::string debug_information_hint();

struct TableOptions {
  std::string sort;                  // a column's id; empty: the default metric
  std::vector<std::string> columns;  // ids; empty: the default columns
  size_t top = 0;                    // rows to keep; 0: all
  bool merge = false;                // merge identical passes, or lines of several shaders
  bool each = false;                 // of draws: do not merge identical draws
  std::optional<uint32_t> pass;      // of regions: only passes with this number in their frame
  std::optional<std::pair<int64_t, int64_t>> at;  // of regions: those with this pixel
  std::optional<size_t> depth;  // of the tree of calls: calls below the entry point
  bool header_above = false;    // a header already says what is missing from the capture
};

enum class ListingKind {
  Source,  // the lines of its ShaderSource; the disassembly if it has none
  Disassembly,
};

void add_metric_columns(Table& table, const std::vector<Metric>& metrics);
// Counts that lack a part of the runs have no share of a whole.
void note_uncounted_runs(Table& table, const std::vector<Metric>& metrics, const Runs& runs);
void append_metrics(Row& row, const MetricMatrix& matrix, size_t index);

// Columns of rows of code: the invocations of the shaders with the code, and the costs of an
// invocation, in the order of the metrics.
Column invocations_column(const std::string& of);
void add_per_invocation_columns(Table& table, const std::vector<Metric>& metrics);
void append_per_invocation(Row& row, const std::vector<Metric>& metrics,
                           const std::vector<uint64_t>& values, uint64_t invocations);

// The share of the lanes of the executed subgroups that executed, in percent; empty without lanes.
Cell efficiency(uint64_t executions, uint64_t lanes);
Column efficiency_column();

// Adds the column of the SIMD efficiency where subgroups are counted. Sorts the rows, adds the
// column "share", and keeps the top rows and the selected columns. An error lists the available
// columns. If rows include the values of other rows, `is_whole` marks (by row) the rows that
// together form the total.
Status finish_table(Table& table, const std::vector<Metric>& metrics, const TableOptions& options,
                    const std::vector<bool>& is_whole = {});

// The same for rows that have their order, and their number: only chooses columns.
Status finish_in_order(Table& table, const TableOptions& options);

}  // namespace tally::analysis
