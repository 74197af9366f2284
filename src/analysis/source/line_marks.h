// Copies of a module with line information of our own instead of the module's.
//
// Instruction indices are those of the original module.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::analysis {

// The file name in an OpLine that marks an instruction.
inline constexpr const char* kMarkFile = "tally";

// Which instructions of the functions get a mark. Left out are those that make no code, and the
// conditions of loops: SPIRV-Cross writes `for (...)` and `while (...)` only where nothing, not
// even a line directive, comes between the loop's start and its condition.
std::vector<bool> markable(const spirv::Module& module);

// The module without debug information, and an OpLine of the file before each instruction whose
// entry in `lines` is not 0.
std::vector<uint32_t> with_lines(const spirv::Module& module, const std::string& file,
                                 std::span<const uint32_t> lines);

// The blocks that hold a loop's condition: none, the header, or the header and the block that it
// leads to. As indices into Module::blocks().
std::vector<uint32_t> condition_blocks(const spirv::Module& module, uint32_t header);

// The index into Module::blocks() of the block with this label, or kNone.
uint32_t block_of_label(const spirv::Module& module, uint32_t label_id);

// The operand of the block's OpLoopMerge; 0 if it has none.
uint32_t loop_merge_label(const spirv::Module& module, const spirv::BlockRange& block);
uint32_t loop_continue_label(const spirv::Module& module, const spirv::BlockRange& block);

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

struct GlslLines {
  std::vector<std::string> text;  // without directives
  std::vector<uint32_t> line_of;  // by instruction: from 1; 0: none
};

GlslLines read_marks(const spirv::Module& module, const std::string& glsl);

}  // namespace tally::analysis
