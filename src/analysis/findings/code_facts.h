// Facts about the code of a shader, for the rules of findings.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "spirv/analysis/block_map.h"
#include "spirv/ir/module.h"

namespace tally::analysis {

// True if the block discards the invocation, or demotes it.
bool discards(const spirv::Module& module, const spirv::Block& block);

// A hash of the code without names and debug information, its ids numbered in order.
Hash128 code_hash(const spirv::Module& module);

// The instructions of the blocks whose operands all come from constants, push constants and uniform
// buffers, through other such instructions and through local variables that are stored once: their
// indices in the module, ascending. Loads, access chains and what only moves values are left out:
// a compiler makes no code of them. Values that depend on a phi, a call or a parameter are not
// found.
std::vector<uint32_t> uniform_instructions(const spirv::Module& module, const spirv::BlockMap& map);

}  // namespace tally::analysis
