// The pass and its plan as tests, benchmarks and fuzzers use them: on words, and for one record.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/instrument/block_count.h"
#include "spirv/plan/counter_plan.h"

namespace tally::spirv {

inline Result<BlockCountResult> add_block_counts(std::span<const uint32_t> words,
                                                 const BlockCountOptions& options) {
  const auto analyzed = TALLY_TRY(AnalyzedModule::parse(words));
  return add_block_counts(analyzed, options);
}

inline BlockCounts derive(const CounterPlan& plan, std::span<const uint64_t> counters) {
  std::vector<uint64_t> buffer;
  BlockCounts counts;
  plan.derive(counters, buffer, counts);
  return counts;
}

}  // namespace tally::spirv
