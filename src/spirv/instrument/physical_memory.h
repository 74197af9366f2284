// Access to memory by 64-bit addresses, for all counting code.
#pragma once

#include "spirv/instrument/context.h"

namespace tally::spirv {

class PhysicalMemory {
 public:
  explicit PhysicalMemory(PassContext& context);

  // Operands of atomics. The scope contains all invocations that count. Device scope would need a
  // further feature under the Vulkan memory model.
  uint32_t scope() const { return scope_; }
  uint32_t relaxed() const { return relaxed_; }
  // *pointer += value, for integers of `type`. Returns the old value.
  uint32_t add(InstructionBuilder& code, uint32_t type, uint32_t pointer, uint32_t value) const;
  // uvec2 address + uint bytes
  uint32_t advance(InstructionBuilder& code, uint32_t address, uint32_t bytes) const;

 private:
  uint32_t advance_64(InstructionBuilder& code, uint32_t address, uint32_t bytes) const;

  Editor& editor_;
  uint32_t scope_;
  bool use_int64_;
  uint32_t relaxed_;
};

}  // namespace tally::spirv
