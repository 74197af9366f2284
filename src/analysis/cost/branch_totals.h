// How often the branches of each shader variant went to each of their targets, over the selected
// commands. A capture has these counts if it was made with `tally run --branches`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "spirv/analysis/branches.h"

namespace tally::analysis {

struct BranchCount {
  spirv::Branch branch;
  // Indexed by target. Empty where it is not known: for a target beyond the 16th that other blocks
  // branch to as well.
  std::vector<std::optional<uint64_t>> taken;

  // The sum of all known targets.
  uint64_t total() const;
};

// The branches of the lines of a shader.
//
// An inlined instance (spirv::LineCost) has the branches of its function once more. Those of two
// instances are the same branch if the instances have the same branches in the line: as many, in
// order, with the same columns and targets.
struct LineBranch {
  spirv::SourceLocation location;
  uint32_t number;     // among the line's branches
  BranchCount counts;  // of all instances; its `branch` is the first one's
};
// `lines` is the block map whose lines count. Sorted by file, line and number; without branches
// that have no line.
std::vector<LineBranch> branches_by_line(std::span<const BranchCount> branches,
                                         const spirv::BlockMap& lines);
// Indexed by branch: its number among those of its line, or kNone.
std::vector<uint32_t> branch_numbers(std::span<const spirv::Branch> branches,
                                     const spirv::BlockMap& lines);

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
