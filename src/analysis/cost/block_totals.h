// The total cost of each block of each shader variant over the selected commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/model/metrics.h"
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

// How often a condition was true and false, as sums of the executions of blocks: where
// branch_counts knows both. A block of `less` is taken off.
struct ConditionBlocks {
  struct Side {
    uint32_t block;
    uint32_t less = kNone;
  };
  Side is_true, is_false;
};
// Nullopt for switches, and where the executions of blocks do not tell.
std::optional<ConditionBlocks> condition_blocks(const ShaderCode& code,
                                                const spirv::Branch& branch);

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

// The cost of each source line: block counts attributed to the lines of the block's instructions.

// The part of a shader's values that belongs to one line. `metrics` is indexed by metric.
struct LineValues {
  spirv::SourceLocation location;  // line 0: instructions without a known line
  std::vector<uint64_t> metrics;
};

// The most executed block of each line of one shader variant with code, by file, line and instance
// (spirv::LineCost): of equal ones the first, also if none ran. The sum of the executions over its
// instances is how often a line ran.
//
// The copies of an unrolled loop belong to one instance, so a line that was unrolled ran at least
// as often.
using LineInstance = std::tuple<uint32_t, uint32_t, uint32_t>;
std::map<LineInstance, uint32_t> most_executed_blocks(const ShaderCode& code,
                                                      const spirv::BlockMap& lines,
                                                      uint32_t variant, const BlockTotals& totals);

// The lines of one shader variant that have code, by file and line; lines that never ran have
// values of 0. A metric of a cost class goes to the line of each instruction. Metrics that say how
// often a block ran are those of the most executed blocks.
// `lines` is the block map whose lines count: the code's own, or a ShaderSource's.
std::vector<LineValues> line_values(const ShaderCode& code, const spirv::BlockMap& lines,
                                    uint32_t variant, const BlockTotals& totals,
                                    const std::vector<Metric>& metrics);

// The values of one instruction, an index of the module, of a block. `model` comes from the same
// module.
std::vector<uint64_t> instruction_values(const spirv::CostModel& model, const ShaderCode& code,
                                         size_t instruction, uint32_t variant, size_t block,
                                         const BlockTotals& totals,
                                         const std::vector<Metric>& metrics);

// The cost of each function of a shader: block counts attributed to the functions of the source,
// also where an optimiser has inlined them.

// The functions that have code, in module order; then those that are inlined everywhere. Functions
// with the same name are one.
//
// Must not outlive the code.
class FunctionTable {
 public:
  explicit FunctionTable(const ShaderCode& code);

  const std::vector<std::string>& names() const { return names_; }
  // The function, as an index into names(), of a line of a block.
  uint32_t function_of(const spirv::Block& block, const spirv::LineCost& line) const;
  uint32_t function_of(const spirv::Block& block) const;

  // The first line of a function with code that can be counted, in the file of its first code.
  const std::optional<spirv::SourceLocation>& place(uint32_t function) const {
    return places_[function];
  }

  // How often a function ran: the sum over its instances (spirv::LineCost) of the executions of
  // their first blocks. Indexed by function.
  std::vector<uint64_t> executions(uint32_t variant, const BlockTotals& totals) const;

  // Indexed by function and metric. The metrics of a cost class add up to those of the shader
  // variant; metrics that say how often a block ran are those of the first blocks of its instances.
  std::vector<std::vector<uint64_t>> values(uint32_t variant, const BlockTotals& totals,
                                            const std::vector<Metric>& metrics) const;

 private:
  uint32_t number_of(const std::string& name);
  void find_place(uint32_t function, const spirv::SourceLocation& location);

  const ShaderCode& code_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> number_of_name_;
  std::vector<std::optional<spirv::SourceLocation>> places_;  // by function
  // The first block of each function and instance, by block.
  std::vector<std::pair<uint32_t, uint32_t>> entries_;  // block, function
  std::vector<uint32_t> by_function_;                   // by index of BlockMap::functions()
  std::vector<uint32_t> by_source_function_;            // by index of BlockMap::source_functions()
};

}  // namespace tally::analysis
