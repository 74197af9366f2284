// The cost of each source line: block counts attributed to the lines of the block's instructions.
#pragma once

#include <map>
#include <tuple>

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

// The values of one instruction of a block.
std::vector<uint64_t> instruction_values(const spirv::Module& module,
                                         const spirv::Instruction& instruction, uint32_t variant,
                                         size_t block, const BlockTotals& totals,
                                         const std::vector<Metric>& metrics);

}  // namespace tally::analysis
