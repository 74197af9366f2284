// What the region counters are made of: which private counts of an invocation, times what.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catalogue/catalogue.h"
#include "spirv/analysis/block_map.h"
#include "spirv/instrument/plan/counter_plan.h"

namespace tally::spirv {

// A region counter's value in one invocation: constant + sum of factor x private variable.
struct RegionValue {
  struct Term {
    uint32_t variable;  // index of the variable
    uint32_t factor;
  };
  uint32_t accumulator = 0;
  uint32_t constant = 0;
  std::vector<Term> terms;
  bool of_samples = false;  // instead: the bits of SampleMask
};

// The counter's accumulator: its place among the region counters.
uint32_t accumulator_of(catalogue::Number number);

// The counters of instruction classes. `variables`: of each block counter, kEveryInvocation for
// that of the invocations themselves.
inline constexpr uint32_t kEveryInvocation = ~0u;
std::vector<RegionValue> class_values(const CounterPlan& plan, const BlockMap& map,
                                      std::span<const uint32_t> variables);

}  // namespace tally::spirv
