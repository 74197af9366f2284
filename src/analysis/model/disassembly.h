// SPIR-V as text, one line an instruction.
#pragma once

#include <string>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::analysis {

// The i-th text is that of the module's i-th instruction, on one line. Where SPIRV-Tools cannot
// parse the module (it may be older than what the compiler wrote) the texts show opcodes and
// operands as numbers.
std::vector<std::string> disassemble(const spirv::Module& module);

}  // namespace tally::analysis
