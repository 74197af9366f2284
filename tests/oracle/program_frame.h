// What stands around the functions of a random program. They find there: types (%uint, %int, %bool
// and pointers to them), constants (%c0 to %c63, %c255, %spec0, %spec1), the variable %id that
// holds the invocation's number, and %fuel.
#pragma once

#include <string>

#include "oracle/generator.h"

namespace tally::test {

// Up to the decorations that belong to the kind.
std::string header_of(ProgramKind kind);
// Further decorations, types, constants and variables.
std::string globals_of(ProgramKind kind);
// The entry point: calls %f0 with what the invocation is given, and puts out what it returns.
std::string main_of(ProgramKind kind);

}  // namespace tally::test
