// Disassembles SPIR-V, one line per instruction.
#pragma once

#include <string>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::analysis {

// The i-th text is the module's i-th instruction, on one line, as spirv-dis prints it with friendly
// names, but for line breaks in strings, which are "\n". Enumerants that the grammar of
// src/spirv/ir does not know are numbers.
std::vector<std::string> disassemble(const spirv::Module& module);

}  // namespace tally::analysis
