// The cost of each function of a shader: block counts attributed to the functions of the source,
// also where an optimiser has inlined them.
#pragma once

#include <string>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "analysis/model/metrics.h"

namespace tally::analysis {

// The functions that have code, in module order. Functions with the same name are one.
//
// Must not outlive the code.
class FunctionTable {
 public:
  explicit FunctionTable(const ShaderCode& code);

  const std::vector<std::string>& names() const { return names_; }
  // The function, as an index into names(), of a line of a block.
  uint32_t function_of(const spirv::Block& block, const spirv::LineCost& line) const;
  uint32_t function_of(const spirv::Block& block) const;

  // By function and metric. The metrics of a cost class add up to those of the shader variant; the
  // executions of a function are those of its first block.
  std::vector<std::vector<uint64_t>> values(uint32_t variant, const BlockTotals& totals,
                                            const std::vector<Metric>& metrics) const;

 private:
  uint32_t number_of(const std::string& name);
  std::vector<uint32_t> functions_in(const spirv::Block& block) const;

  const ShaderCode& code_;
  std::vector<std::string> names_;
  std::vector<uint32_t> by_function_;         // by index of BlockMap::functions()
  std::vector<uint32_t> by_source_function_;  // by index of BlockMap::source_functions()
};

}  // namespace tally::analysis
