// The block-count pass: makes a module count how often its blocks are executed, exactly.
//
// Executions are those of the module as it was given, by non-helper invocations. What the shader
// computes is unchanged. The counts go to a record (probe/record.h) whose address the code reads at
// run time, so that the words depend on the module and the options alone, and drivers' caches hit.
//
// One invocation's count of one block is exact up to 2^32-1 in Counting::Private.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/instrument/options.h"
#include "spirv/instrument/plan/counter_plan.h"
#include "spirv/instrument/record_spec_ids.h"

namespace tally::spirv {

struct BlockCountResult {
  std::vector<uint32_t> words;
  CounterPlan plan;
  std::optional<RecordSpecIds> record_spec_ids;  // where there are counters
  // For the user: which functions are left as they are, and why; empty if there are none. Their
  // blocks have no counts (MappedFunction::is_countable).
  std::string left_out;
};

// An error says, for the user, why the module cannot be instrumented; it then runs as it is.
Result<BlockCountResult> add_block_counts(const AnalyzedModule& analyzed,
                                          const BlockCountOptions& options);
Result<BlockCountResult> add_block_counts(std::span<const uint32_t> words,
                                          const BlockCountOptions& options);

}  // namespace tally::spirv
