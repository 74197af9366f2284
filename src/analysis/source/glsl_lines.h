// Reads the line directives in GLSL that was decompiled from a module with marks (line_marks.h),
// and assigns each instruction to the line that it became.
//
// - An instruction belongs to the first statement that follows its mark in the same scope.
// - An instruction without a statement of its own, whose value SPIRV-Cross writes into a later
//   expression, belongs to the line of its first use in its block; without a use there, to the next
//   line of its block, else to the one before.
// - The condition and the continue part of a loop belong to the line that opens the loop, or to the
//   `while` that closes it. So does a block without lines that leads to the loop. So does a
//   continue part that SPIRV-Cross wrote several times.
//
// So every line but those of loops has the instructions of one block, and its count is exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::analysis {

struct GlslLines {
  std::vector<std::string> text;  // without directives
  std::vector<uint32_t> line_of;  // by instruction: from 1; 0: none
};

GlslLines read_marks(const spirv::Module& module, const std::string& glsl);

}  // namespace tally::analysis
