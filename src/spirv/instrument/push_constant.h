// Adds a member to the push-constant block of an entry point.
//
// An entry point may use one push-constant variable. If it has one, even an unused one, the
// variable gets a new block type with the old members and the new one. Access chains do not change;
// loads of the whole block become loads of its members. Otherwise a variable is added.
#pragma once

#include "base/status.h"
#include "spirv/ir/editor.h"

namespace tally::spirv {

struct PushConstantMember {
  uint32_t variable;
  uint32_t member;
};

// Adds a member of `type` at byte `offset`. Fails if the block is used in an unsupported way or
// extends beyond `offset`.
Result<PushConstantMember> add_push_constant(Editor& editor, const EntryPoint& entry, uint32_t type,
                                             uint32_t offset);

}  // namespace tally::spirv
