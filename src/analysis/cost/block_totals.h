// What every block of every variant of a shader cost over the selected commands.
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

  // Blocks that have totals: all of the code's where any was executed, else 0.
  size_t block_count(uint32_t variant) const { return totals_[variant].executions.size(); }
  uint64_t executions(uint32_t variant, size_t block) const {
    return totals_[variant].executions[block];
  }
  uint64_t value(uint32_t variant, size_t block, size_t metric) const {
    return totals_[variant].values->at(block, metric);
  }

 private:
  struct Totals {
    std::vector<uint64_t> executions;  // by block
    std::vector<uint64_t> with_costs;  // those of them whose values are static costs
    std::unique_ptr<MetricMatrix> values;
  };

  // Values that are not executions x cost, and the executions that they stand for; by variant,
  // block and metric.
  struct Other {
    uint64_t value = 0;
    uint64_t executions = 0;
  };
  using Others = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Other>;

  BlockTotals(const Model& model, ShaderCodes& codes, const Variants& variants);
  bool has_room(uint32_t variant, uint32_t block);
  Status make_values(const Others& others);
  void count_executions_themselves();

  const Model& model_;
  ShaderCodes& codes_;
  const Variants& variants_;
  std::vector<Totals> totals_;  // by variant
};

}  // namespace tally::analysis
