// What every table of measurements does in the same way: metric columns, the share of the whole,
// which columns are shown, order and number of rows.
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
  std::string sort;                  // a column's id, empty: the default metric
  std::vector<std::string> columns;  // ids, empty: the usual ones
  size_t top = 0;                    // rows to keep, 0: all
  bool merge = false;                // put passes, or lines of several shaders, together
  bool each = false;                 // of draws: not those that are alike together
  std::optional<uint32_t> pass;      // of regions: only passes of this number in their frames
  bool header_above = false;         // a header says already what of the capture is missing
};

void add_metric_columns(Table& table, const std::vector<Metric>& metrics);
void append_metrics(Row& row, const MetricMatrix& matrix, size_t index);

// Sorts, adds the column "share", keeps the top rows and the wanted columns. The error names the
// columns there are. Where rows hold what other rows hold too, `is_whole` says (by row) which of
// them together are the whole.
Status finish_table(Table& table, const std::vector<Metric>& metrics, const TableOptions& options,
                    const std::vector<bool>& is_whole = {});

}  // namespace tally::analysis
