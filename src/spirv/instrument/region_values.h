// How the region counters are computed from the private counts of an invocation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "catalogue/catalogue.h"
#include "spirv/analysis/block_map.h"
#include "spirv/instrument/plan/counter_plan.h"

namespace tally::spirv {

// A region counter's value in one invocation: constant + sum of factor x private variable; or a
// byte of a private variable.
struct RegionValue {
  struct Term {
    uint32_t variable;  // index of the variable
    uint32_t factor;
  };
  uint32_t accumulator = 0;
  uint32_t constant = 0;
  std::vector<Term> terms;
  bool of_samples = false;            // instead: the number of bits in SampleMask
  bool of_blocks = false;             // the variables are block counters
  std::optional<uint32_t> byte = {};  // of the only term's variable
};

// The index of the counter's accumulator: its position among the region counters.
uint32_t accumulator_of(catalogue::Number number);

// The counters of instruction classes. `variables` has the variable of each block counter, or
// kEveryInvocation for the counter of invocations.
inline constexpr uint32_t kEveryInvocation = ~0u;
std::vector<RegionValue> class_values(const CounterPlan& plan, const BlockMap& map,
                                      std::span<const uint32_t> variables);

}  // namespace tally::spirv
