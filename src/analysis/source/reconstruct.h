// GLSL that stands for a module without source, made by SPIRV-Cross. It is not the application's
// text: names, expressions and control flow may differ, but it does the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "spirv/analysis/block_map.h"
#include "spirv/ir/module.h"

namespace tally::analysis {

// GLSL that SPIRV-Cross makes of a module.

// The module without what the installed SPIRV-Tools may be too old to know and what changes no
// text: capabilities, execution modes and decorations, and the extensions that only these need.
std::vector<uint32_t> without_unknown_declarations(const spirv::Module& module);

// Fails for modules that SPIRV-Tools does not accept, that are too large, or that SPIRV-Cross
// cannot express.
Status check_decompilable(std::span<const uint32_t> words);

// The text of one entry point, with a directive `#line N "FILE"` for each OpLine that it keeps.
// Valid modules only.
Result<std::string> decompile(std::span<const uint32_t> words, const spirv::EntryPoint& entry);

struct Reconstruction {
  // The blocks of the entry point with their lines in the text, of one file with the given name.
  // words refer to a copy of the module.
  spirv::BlockMap map;
  std::vector<std::string> lines;
};

// The error is a reason for the user.
Result<Reconstruction> reconstruct(const spirv::Module& module, const spirv::EntryPoint& entry,
                                   const std::string& file_name);

}  // namespace tally::analysis
