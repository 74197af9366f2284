// The declarations around the functions of a random program. The functions can use: types (%uint,
// %int, %bool and pointers to them), constants (%c0 to %c63, %c255, %spec0, %spec1), the variable
// %id with the invocation's index, and %fuel.
#pragma once

#include <string>

#include "oracle/generator.h"

namespace tally::test {

// Everything up to the decorations that depend on the kind.
std::string header_of(ProgramKind kind, uint32_t group_size);
// Further decorations, types, constants and variables.
std::string globals_of(ProgramKind kind);
// The entry point: calls %f0 with the invocation's inputs and writes the result. Launch programs
// have another one (launch_parts.h).
std::string main_of(ProgramKind kind);

}  // namespace tally::test
