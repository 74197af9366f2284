// Values of metrics by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::analysis {

// Values of metrics by row: `at(row, metric)`. Sums saturate. A metric that is 0 everywhere takes
// no memory, one whose values fit takes 4 bytes a row.
class MetricMatrix {
 public:
  MetricMatrix(size_t rows, size_t metrics) : rows_(rows), columns_(metrics) {}
  uint64_t at(size_t row, size_t metric) const;
  void add(size_t row, size_t metric, uint64_t value);
  // Not less than it was: for values that lines of one block share.
  void raise(size_t row, size_t metric, uint64_t value);
  size_t metric_count() const { return columns_.size(); }
  bool is_zero(size_t metric) const {
    return columns_[metric].narrow.empty() && columns_[metric].wide.empty();
  }

 private:
  // Empty both: all 0. Never both in use.
  struct Values {
    std::vector<uint32_t> narrow;
    std::vector<uint64_t> wide;
  };
  void set(size_t row, size_t metric, uint64_t value);

  size_t rows_;
  std::vector<Values> columns_;
};

}  // namespace tally::analysis
