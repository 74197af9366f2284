// What every source line cost: the counts of blocks divided among the lines that their instructions
// came from.
#pragma once

#include <functional>

#include "analysis/cost/block_totals.h"
#include "analysis/model/metrics.h"
#include "spirv/analysis/block_map.h"

namespace tally::analysis {

// One line's part of a shader's values. `metrics` is by metric.
struct LineValues {
  spirv::SourceLocation location;  // line 0: instructions that no line is known of
  std::vector<uint64_t> metrics;
};

// The lines of one variant of a shader that have code, by file and line; those that were never
// executed have values of 0. A metric of a class goes to the line of each instruction; one that
// says how often a block ran is, for a line, the most of its blocks.
std::vector<LineValues> line_values(const ShaderCode& code, uint32_t variant,
                                    const BlockTotals& totals, const std::vector<Metric>& metrics);

// The values of one instruction of a block that was executed so often.
std::vector<uint64_t> instruction_values(const spirv::Module& module,
                                         const spirv::Instruction& instruction, uint64_t executions,
                                         const std::vector<Metric>& metrics);

}  // namespace tally::analysis
