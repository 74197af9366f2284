// Disassembles SPIR-V, one line per instruction.
#pragma once

#include <string>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::analysis {

// The i-th text is the module's i-th instruction, on one line. If SPIRV-Tools cannot parse the
// module, for instance because it is older than the module's compiler, the texts show opcodes and
// operands as numbers.
std::vector<std::string> disassemble(const spirv::Module& module);

}  // namespace tally::analysis
