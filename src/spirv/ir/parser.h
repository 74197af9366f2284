// Expands decoration groups (OpDecorationGroup, OpGroupDecorate, OpGroupMemberDecorate), which old
// compilers emit, so that other code only has to support single decorations.
#pragma once

#include "spirv/ir/module.h"

namespace tally::spirv {

// Parses the words with the decorations of each group repeated for the ids and members that it
// decorates. Functions and ids do not change. Also fails if that would take too many words.
Result<Module> parse_without_groups(std::span<const uint32_t> words);

}  // namespace tally::spirv
