// Shared by all tables of measurements: metric columns, the share of the total, the
// selection of columns, sorting and the number of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/cost/metric_matrix.h"
#include "analysis/model/metrics.h"
#include "analysis/tables/table.h"
#include "base/status.h"

namespace tally::analysis {

struct TableOptions {
  std::string sort;                  // a column's id; empty: the default metric
  std::vector<std::string> columns;  // ids; empty: the default columns
  size_t top = 0;                    // rows to keep; 0: all
  bool merge = false;                // merge identical passes, or lines of several shaders
  bool each = false;                 // of draws: do not merge identical draws
  std::optional<uint32_t> pass;      // of regions: only passes with this number in their frame
  bool header_above = false;         // a header already says what is missing from the capture
};

void add_metric_columns(Table& table, const std::vector<Metric>& metrics);
void append_metrics(Row& row, const MetricMatrix& matrix, size_t index);

// The share of the lanes of the executed subgroups that executed, in percent; empty without lanes.
Cell efficiency(uint64_t executions, uint64_t lanes);
Column efficiency_column();

// Adds the column of the SIMD efficiency where subgroups are counted. Sorts the rows, adds the
// column "share", and keeps the top rows and the selected columns. An error lists the available
// columns. If rows include the values of other rows, `is_whole` marks (by row) the rows that
// together form the total.
Status finish_table(Table& table, const std::vector<Metric>& metrics, const TableOptions& options,
                    const std::vector<bool>& is_whole = {});

}  // namespace tally::analysis
