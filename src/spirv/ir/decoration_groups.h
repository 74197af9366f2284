// Decoration groups (OpDecorationGroup, OpGroupDecorate, OpGroupMemberDecorate), which compilers
// wrote once. Whoever has to know decorations reads a module in which each stands on its own.
#pragma once

#include "spirv/ir/module.h"

namespace tally::spirv {

// Module::parse() of the words, with each group written out at the ids and members that it
// decorates. Functions and ids are as they were. Fails where that would take too many words, too.
Result<Module> parse_without_groups(std::span<const uint32_t> words);

}  // namespace tally::spirv
