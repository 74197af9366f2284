// Adds a member to the push-constant block of an entry point.
//
// An entry point may use one push-constant variable. If it has one, even an unused one, the
// variable gets a new block type with the old members and the new one. Access chains do not change;
// loads of the whole block become loads of its members. Otherwise a variable is added.
//
// A block that leaves no room for the member can be moved to memory: its loads are then loads
// through an address, which is a push constant too.
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

// True if the block that the entry point uses, or that drivers see in its place, extends beyond a
// byte. False where no such block can be found.
bool push_constants_extend_beyond(const Module& module, const EntryPoint& entry, uint32_t offset);

// True if that block can be moved. True if there is none.
bool can_move_push_constants(const Module& module, const EntryPoint& entry);

// Replaces the block by one with the address of its bytes at `address_offset` and a member of
// `type` at `offset`. The module must have physical addresses.
Result<PushConstantMember> move_push_constants(Editor& editor, const EntryPoint& entry,
                                               uint32_t type, uint32_t offset,
                                               uint32_t address_offset);

}  // namespace tally::spirv
