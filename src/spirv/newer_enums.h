// Numbers of the SPIR-V registry that the installed headers (1.3.239) lack. Those that the headers
// have too have the same values there.
#pragma once

#include <spirv/unified1/spirv.hpp11>

namespace tally::spirv::newer {

inline constexpr auto OpUntypedVariableKHR = static_cast<spv::Op>(4418);

}  // namespace tally::spirv::newer
