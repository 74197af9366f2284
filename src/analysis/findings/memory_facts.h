// Facts about accesses to memory, for the rules of findings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/shader_code.h"
#include "spirv/analysis/memory_access.h"

namespace tally::analysis {

// The bytes and units that accesses of one kind to one resource touched at a line of a shader
// variant. Captures without counts of memory have none.
struct MemoryLine {
  uint32_t variant = 0;
  uint32_t block = 0;  // of the first access
  std::optional<spirv::SourceLocation> location;
  std::string resource, access;
  bool is_shared = false;
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
