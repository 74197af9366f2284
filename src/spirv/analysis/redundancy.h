// The instructions that every compiler of shaders removes, as far as a light analysis can tell:
//
// - what is computed again in the same block, of the same values: expressions, accesses, and loads
//   with no store in between;
// - what is computed of constants alone;
// - what is computed and never used, stores to a function's variables that are never read included;
// - of a division by a constant all but a multiplication;
// - calls, returns and unconditional branches: functions are inlined, and blocks follow each other.
//
// For a GPU also what its compilers do by default, though nothing makes them:
//
// - they unroll short loops whose trip count is a constant, so that what is computed of their
//   counters is known;
// - they fuse a product and the sum that alone uses it, unless the shader forbids it
//   (NoContraction).
//
// It numbers values block by block (Cocke and Schwartz 1970) and then marks what is used, function
// by function. It never changes a count: only the cost leaves these instructions out.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "spirv/analysis/cost.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

// The knowledge of a compiler for a GPU (gpu_compiler() of loop_bounds.h).
struct GpuCompiler {
  std::unordered_set<uint32_t> counters;  // ids of what is constant in an iteration of short loops
};

// Indexed by instruction of the module. Only of these functions (indices) anything is removed.
std::vector<Residue> residues_of_instructions(const Module& module,
                                              std::span<const uint32_t> functions,
                                              const GpuCompiler* gpu = nullptr);

}  // namespace tally::spirv
