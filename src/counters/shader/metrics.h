// The metrics of VK_ARM_shader_instrumentation: the counters of scope "block", in the order of the
// catalogue, then those of scope "branch".
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
    Lanes,       // of those subgroups
    Branch,      // times the block's branch went to its target number `target`
    Cost,        // executions times the block's static cost in `cost`
  };
  const catalogue::Counter* counter = nullptr;
  Kind kind = Kind::Executions;
  spirv::CostClass cost = spirv::CostClass::Instruction;
  uint32_t target = 0;
};

// Which metrics there are, besides executions, depends on settings.
struct MetricChoice {
  bool subgroups = false;  // they and branches take additional counters
  bool branches = false;
  bool static_costs = true;  // the metrics of Kind::Cost
};
std::vector<Metric> block_metrics(const MetricChoice& choice);

}  // namespace tally::counters
