// The table of what one execution of a block costs, by line, function and instance
// (spirv::LineCost).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/dataset/dataset.h"
#include "analysis/model/metrics.h"
#include "spirv/analysis/cost.h"

namespace tally::analysis {

class CostRows {
 public:
  struct Place {
    uint32_t line, function;  // rows; kNone: none
    uint32_t instance;
  };

  // `counted`: by metric, whether its values do not follow from executions.
  CostRows(const std::vector<Metric>& metrics, const std::vector<bool>& counted);

  // The costs of one block, by metric, which its rows must sum to. Rows are added for lines, then
  // one for what is left over.
  void begin_block(uint32_t block, std::vector<uint64_t> costs);
  void add_line(const Place& place, const spirv::InstructionMix& mix);
  // The block's own place. A metric without a cost class has its costs there, and `rest`, an
  // instance, has what is left over.
  void end_block(const Place& place, uint32_t rest);

  // Without the columns that are 0 everywhere.
  DataTable finish() &&;

 private:
  void add_row(const Place& place, std::span<const uint64_t> costs);

  const std::vector<Metric>& metrics_;
  const std::vector<bool>& counted_;
  uint32_t block_ = 0;
  std::vector<uint64_t> rest_, row_;  // by metric
  DataColumn blocks_{DataColumn::Kind::Index}, lines_{DataColumn::Kind::Index},
      functions_{DataColumn::Kind::Index}, instances_{DataColumn::Kind::Number};
  std::vector<DataColumn> costs_;  // by metric
  std::vector<bool> used_;         // by metric: not 0 everywhere
};

}  // namespace tally::analysis
