// The cost of each function of a shader: block counts attributed to the functions of the source,
// also where an optimiser has inlined them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "analysis/model/metrics.h"

namespace tally::analysis {

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
  std::vector<std::optional<spirv::SourceLocation>> places_;  // by function
  // The first block of each function and instance, by block.
  std::vector<std::pair<uint32_t, uint32_t>> entries_;  // block, function
  std::vector<uint32_t> by_function_;                   // by index of BlockMap::functions()
  std::vector<uint32_t> by_source_function_;            // by index of BlockMap::source_functions()
};

}  // namespace tally::analysis
