// The total cost of each block of each shader variant over the selected commands.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "analysis/cost/metric_matrix.h"
#include "analysis/model/shader_code.h"
#include "analysis/model/variants.h"

namespace tally::analysis {

class BlockTotals {
 public:
  static Result<BlockTotals> count(const Model& model, ShaderCodes& codes, const Variants& variants,
                                   const Progress& progress);

  // The number of blocks that have totals: all blocks of the code if any of them ran, else 0.
  size_t block_count(uint32_t variant) const { return totals_[variant].executions.size(); }
  // 0 for a block without totals.
  uint64_t executions(uint32_t variant, size_t block) const {
    return block < block_count(variant) ? totals_[variant].executions[block] : 0;
  }
  uint64_t value(uint32_t variant, size_t block, size_t metric) const {
    return block < block_count(variant) ? totals_[variant].values->at(block, metric) : 0;
  }

 private:
  struct Totals {
    std::vector<uint64_t> executions;  // by block
    std::vector<uint64_t> with_costs;  // the executions whose values are static costs
    std::unique_ptr<MetricMatrix> values;
  };

  // Values that are not executions x cost, and the executions that they cover, by variant, block
  // and metric.
  struct StoredValue {
    uint64_t value = 0;
    uint64_t executions = 0;
  };
  using StoredValues = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, StoredValue>;

  BlockTotals(const Model& model, ShaderCodes& codes, const Variants& variants);
  bool reserve_block(uint32_t variant, uint32_t block);
  Status compute_values(const StoredValues& stored_values);
  void add_executions_metric();
  void add_subgroup_executions();

  const Model& model_;
  ShaderCodes& codes_;
  const Variants& variants_;
  std::vector<Totals> totals_;  // by variant
};

}  // namespace tally::analysis
