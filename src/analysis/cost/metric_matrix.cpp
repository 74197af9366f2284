#include "analysis/cost/metric_matrix.h"

#include <limits>

#include "analysis/model/counts.h"

namespace tally::analysis {

uint64_t MetricMatrix::at(size_t row, size_t metric) const {
  const Values& values = columns_[metric];
  if (!values.wide.empty()) return values.wide[row];
  return values.narrow.empty() ? 0 : values.narrow[row];
}

void MetricMatrix::set(size_t row, size_t metric, uint64_t value) {
  Values& values = columns_[metric];
  const bool fits = value <= std::numeric_limits<uint32_t>::max();
  if (values.wide.empty() && values.narrow.empty()) {
    fits ? values.narrow.resize(rows_) : values.wide.resize(rows_);
  }
  if (!values.narrow.empty() && !fits) {
    values.wide.assign(values.narrow.begin(), values.narrow.end());
    values.narrow = {};
  }
  if (values.wide.empty()) {
    values.narrow[row] = static_cast<uint32_t>(value);
  } else {
    values.wide[row] = value;
  }
}

void MetricMatrix::add(size_t row, size_t metric, uint64_t value) {
  if (value != 0) set(row, metric, saturating_sum(at(row, metric), value));
}

void MetricMatrix::raise(size_t row, size_t metric, uint64_t value) {
  if (value > at(row, metric)) set(row, metric, value);
}

}  // namespace tally::analysis
