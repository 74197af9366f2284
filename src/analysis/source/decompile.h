// GLSL that SPIRV-Cross makes of a module.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "spirv/ir/module.h"

namespace tally::analysis {

// The module without what the installed SPIRV-Tools may be too old to know and what changes no
// text: capabilities and execution modes, and the extensions that only these need.
std::vector<uint32_t> without_unknown_declarations(const spirv::Module& module);

// Fails for modules that SPIRV-Tools does not accept, that are too large, or that SPIRV-Cross
// cannot express.
Status check_decompilable(std::span<const uint32_t> words);

// The text of one entry point, with a directive `#line N "FILE"` for each OpLine that it keeps.
// Valid modules only.
Result<std::string> decompile(std::span<const uint32_t> words, const spirv::EntryPoint& entry);

}  // namespace tally::analysis
