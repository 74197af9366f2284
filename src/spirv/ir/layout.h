// Insertion points for new instructions in the logical layout of a module.
#pragma once

#include <array>
#include <cstdint>

#include "spirv/ir/module.h"

namespace tally::spirv {

enum class Section : uint8_t {
  Capability,
  Extension,
  Import,
  EntryPoint,
  ExecutionMode,
  Name,
  Decoration,
  Global,  // types, constants and global variables
  Function,
};
inline constexpr size_t kSectionCount = static_cast<size_t>(Section::Function) + 1;

// For each section the index of the instruction before which additions are inserted.
using SectionEnds = std::array<uint32_t, kSectionCount>;
SectionEnds section_ends(const Module& module);

// Index of the first instruction of a block before which code may be inserted: after OpLabel, OpPhi
// and OpVariable.
uint32_t first_insertion(const Module& module, const BlockRange& block);

}  // namespace tally::spirv
