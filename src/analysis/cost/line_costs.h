// The cost of each source line: block counts attributed to the lines of the block's instructions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "analysis/model/metrics.h"
#include "spirv/analysis/block_map.h"

namespace tally::analysis {

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
// Costs by the lines of the debug information.
std::vector<LineValues> line_values(const ShaderCode& code, uint32_t variant,
                                    const BlockTotals& totals, const std::vector<Metric>& metrics);

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
