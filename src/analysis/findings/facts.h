// Facts about the code of a shader and its accesses to memory, for the rules of findings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/shader_code.h"
#include "base/hash.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/memory_access.h"
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

// The bytes and units that accesses of one kind to one resource touched at a line of a shader
// variant. Captures without counts of memory have none.
struct MemoryLine {
  uint32_t variant = 0;
  uint32_t block = 0;  // of the first access
  std::optional<spirv::SourceLocation> location;
  std::string resource, access;
  uint64_t bytes = 0, subgroups = 0;
  uint64_t sectors = 0, extra_passes = 0, texels = 0;
};

// In the order of the variants and of the code.
Result<std::vector<MemoryLine>> find_memory_lines(const Model& model, ShaderCodes& codes,
                                                  const Variants& variants,
                                                  const Progress& progress);

// The loads of a block that read what a store before them in it stored, with nothing in between
// that could change it: indices in the module.
std::vector<uint32_t> loads_of_stored(const spirv::Module& module, const spirv::Block& block,
                                      const spirv::MemoryAccesses& accesses);

}  // namespace tally::analysis
