// How often branches went to each of their targets, as far as block counts tell.
#pragma once

#include <vector>

#include "analysis/cost/branch_totals.h"

namespace tally::analysis {

// The branches of a variant, in block order, for captures without branch counts. A count is known
// where no other block leads to the target, and where it is the only other target of a block that
// every invocation leaves.
std::vector<BranchCount> branch_counts(const ShaderCode& code, uint32_t variant,
                                       const BlockTotals& totals);

}  // namespace tally::analysis
