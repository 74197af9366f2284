// The block-count pass: instruments a module to count exactly how often each block is executed.
//
// The pass counts executions of the original module by non-helper invocations. The shader's
// results are unchanged. The counts go to a record (probe/record.h) whose address the code reads at
// run time. The words therefore depend only on the module and the options, and drivers' caches hit.
//
// With Counting::Private, one invocation's count of one block wraps after 2^32 - 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "spirv/plan/counter_plan.h"
#include "spirv/plan/options.h"

namespace tally::spirv {

class AnalyzedModule;

struct BlockCountResult {
  std::vector<uint32_t> words;
  CounterPlan plan;
  std::optional<RecordSpecIds> record_spec_ids;  // where there are counters
  // For the user: which functions are not counted, and why, or that some sites are not; empty if
  // there are none. Blocks of such functions have no counts (MappedFunction::is_countable).
  std::string left_out;
  // Fragment shaders only: all invocations come after the tests, as the shader or the pass
  // declares.
  bool tests_early = false;
};

// An error tells the user why the module cannot be instrumented.
Result<BlockCountResult> add_block_counts(const AnalyzedModule& analyzed,
                                          const BlockCountOptions& options);

}  // namespace tally::spirv
