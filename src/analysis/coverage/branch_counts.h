// How often a block went to each of its successors, as far as block counts tell.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/cost/block_totals.h"

namespace tally::analysis {

struct BranchCounts {
  uint32_t block;
  spirv::SourceLocation location;  // of the block's last line
  uint64_t executions;             // of the block
  std::vector<uint64_t> taken;     // by target, in the order of the instruction, each target once;
                                   // empty: the counts of blocks do not tell
};

// The branches with a source line, in block order. A count is known where no other block leads to
// the target, and where it is the only other target of a block that every invocation leaves.
std::vector<BranchCounts> branch_counts(const ShaderCode& code, uint32_t variant,
                                        const BlockTotals& totals);

}  // namespace tally::analysis
