// The static costs of blocks, as the capture file holds them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

// The cost of one execution of each block, by shader.
class BlockCosts {
 public:
  struct Cost {
    store::RowId metric;
    uint64_t per_execution;
  };

  // The costs in the metrics for which `wanted` returns true.
  template <typename Wanted>
  static Result<BlockCosts> load(const Model& model, Wanted&& wanted) {
    BlockCosts costs;
    const Status status = model.reader.for_each_block_cost([&](const store::BlockCostRow& row) {
      const uint32_t shader = model.shader_index.find(row.shader);
      if (shader != kNone && wanted(row.metric)) {
        costs.costs_[{shader, row.block}].push_back({row.metric, row.per_execution});
      }
      return true;
    });
    if (!status) return status.error();
    return costs;
  }

  std::span<const Cost> of(uint32_t shader, uint32_t block) const {
    const auto found = costs_.find({shader, block});
    return found == costs_.end() ? std::span<const Cost>() : std::span<const Cost>(found->second);
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Cost>> costs_;
};

}  // namespace tally::analysis
