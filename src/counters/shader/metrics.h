// The metrics of VK_ARM_shader_instrumentation: the counters of scope "block", in the order of the
// catalogue.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "catalogue/catalogue.h"
#include "spirv/analysis/cost.h"

namespace tally::counters {

struct Metric {
  enum class Kind {
    Executions,  // of the block, by non-helper invocations
    Subgroups,   // subgroups that executed the block
    Cost,        // executions times the block's static cost in `cost`
  };
  const catalogue::Counter* counter = nullptr;
  Kind kind = Kind::Executions;
  spirv::CostClass cost = spirv::CostClass::Instruction;
};

// `subgroups`: whether subgroups are counted, which takes additional counters (a setting).
// `static_costs`: whether the metrics of Kind::Cost are among them (a setting).
std::vector<Metric> block_metrics(bool subgroups, bool static_costs);

}  // namespace tally::counters
