// How often the branches of each shader variant went to each of their targets, over the selected
// commands. A capture has these counts if it was made with `tally run --branches`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "spirv/analysis/branches.h"

namespace tally::analysis {

struct BranchCount {
  spirv::Branch branch;
  // By target. Empty where it is not known: of a target beyond the 16th that other blocks branch to
  // as well.
  std::vector<std::optional<uint64_t>> taken;

  // Of all known targets.
  uint64_t total() const;
};

class BranchTotals {
 public:
  static Result<BranchTotals> count(const Model& model, ShaderCodes& codes,
                                    const Variants& variants, const BlockTotals& blocks,
                                    const Progress& progress);

  // In the order of their blocks, including branches that never ran. None if the variant was not
  // counted, or the capture does not count branches.
  const std::vector<BranchCount>& of(uint32_t variant) const { return branches_[variant]; }

 private:
  std::vector<std::vector<BranchCount>> branches_;  // by variant
};

}  // namespace tally::analysis
