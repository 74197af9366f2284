// GLSL that stands for a module without source, made by SPIRV-Cross. It is not the application's
// text: names, expressions and control flow may differ, but it does the same.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "spirv/analysis/block_map.h"
#include "spirv/ir/module.h"

namespace tally::analysis {

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
