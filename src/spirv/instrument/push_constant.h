// A further member in the push-constant block of an entry point.
//
// An entry point may use one push-constant variable. If it has one, also one that it does not use,
// the variable gets a new block type of the old members and the new one; access chains stay as they
// are, loads of the whole block become loads of its members. Else a variable is made.
#pragma once

#include "base/status.h"
#include "spirv/ir/editor.h"

namespace tally::spirv {

struct PushConstantMember {
  uint32_t variable;
  uint32_t member;
};

// The new member is of `type`, at byte `offset`. Fails, saying why, if the block is used in a way
// that cannot be followed or reaches beyond `offset`.
Result<PushConstantMember> add_push_constant(Editor& editor, const EntryPoint& entry, uint32_t type,
                                             uint32_t offset);

}  // namespace tally::spirv
