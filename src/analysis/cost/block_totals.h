// The total cost of each block of each shader variant over the selected commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "analysis/model/shader_code.h"
#include "spirv/analysis/block_map.h"

namespace tally::analysis {

// A compact matrix of metric values.

// Values of metrics by row: `at(row, metric)`. Sums saturate. A metric that is 0 everywhere takes
// no memory, one whose values fit takes 4 bytes a row.
class MetricMatrix {
 public:
  MetricMatrix(size_t rows, size_t metrics) : rows_(rows), columns_(metrics) {}
  uint64_t at(size_t row, size_t metric) const;
  void add(size_t row, size_t metric, uint64_t value);
  // Raises the value to at least `value`, for values that the lines of a block share.
  void raise_to(size_t row, size_t metric, uint64_t value);
  size_t metric_count() const { return columns_.size(); }
  bool is_zero(size_t metric) const {
    return columns_[metric].narrow.empty() && columns_[metric].wide.empty();
  }

 private:
  // At most one of the two is in use. Both are empty if all values are 0.
  struct Values {
    std::vector<uint32_t> narrow;
    std::vector<uint64_t> wide;
  };
  void set(size_t row, size_t metric, uint64_t value);

  size_t rows_;
  std::vector<Values> columns_;
};

class BlockTotals {
 public:
  static Result<BlockTotals> count(const Model& model, ShaderCodes& codes, const Variants& variants,
                                   const Progress& progress);

  // The number of blocks that have totals: all blocks of the code if any of them ran, else 0.
  size_t block_count(uint32_t variant) const { return totals_[variant].executions.size(); }
  // 0 for a block without totals.
  uint64_t executions(uint32_t variant, size_t block) const {
    return block < block_count(variant) ? totals_[variant].executions[block] : 0;
  }
  uint64_t value(uint32_t variant, size_t block, size_t metric) const {
    return block < block_count(variant) ? totals_[variant].values->at(block, metric) : 0;
  }

 private:
  struct Totals {
    std::vector<uint64_t> executions;  // by block
    std::vector<uint64_t> with_costs;  // the executions whose values are static costs
    std::unique_ptr<MetricMatrix> values;
  };

  // Values that are not executions x cost, and the executions that they cover, by variant, block
  // and metric.
  struct StoredValue {
    uint64_t value = 0;
    uint64_t executions = 0;
  };
  using StoredValues = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, StoredValue>;

  BlockTotals(const Model& model, ShaderCodes& codes, const Variants& variants);
  bool reserve_block(uint32_t variant, uint32_t block);
  Status compute_values(const StoredValues& stored_values);
  void add_executions_metric();
  void add_subgroup_executions();

  const Model& model_;
  ShaderCodes& codes_;
  const Variants& variants_;
  std::vector<Totals> totals_;  // by variant
};

// How often the branches of each shader variant went to each of their targets, over the selected
// commands. A capture has these counts if it was made with `tally run --branches`.

struct BranchCount {
  spirv::Branch branch;
  // Indexed by target. Empty where it is not known: for a target beyond the 16th that other blocks
  // branch to as well.
  std::vector<std::optional<uint64_t>> taken;

  // The sum of all known targets.
  uint64_t total() const;
};

// The branches of a variant, in block order, for captures without branch counts. A count is known
// where no other block leads to the target, and where it is the only other target of a block that
// every invocation leaves.
std::vector<BranchCount> branch_counts(const ShaderCode& code, uint32_t variant,
                                       const BlockTotals& totals);

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
