// Reads built-in inputs in instrumented code: through the variable that the entry point has
// already, since a second one of the same built-in is not allowed, else through a new one.
#pragma once

#include <optional>
#include <vector>

#include "spirv/instrument/context.h"

namespace tally::spirv {

// A variable of the entry point that is a built-in, or a block with it.
struct BuiltinVariable {
  spv::BuiltIn builtin;
  uint32_t variable;
  uint32_t type;                   // of the built-in
  std::optional<uint32_t> member;  // of the block that the variable is
};
std::optional<BuiltinVariable> find_builtin(const Module& module, const EntryPoint& entry,
                                            spv::StorageClass storage, spv::BuiltIn builtin);

class Builtins {
 public:
  explicit Builtins(PassContext& context) : context_(context) {}

  // A component of an unsigned integer or float built-in of `size` components, as a 32-bit number.
  uint32_t number(InstructionBuilder& code, spv::BuiltIn builtin, uint32_t size,
                  uint32_t component);
  // HelperInvocation.
  uint32_t is_helper(InstructionBuilder& code);
  // The first word of SampleMask, as a 32-bit number.
  uint32_t sample_mask(InstructionBuilder& code);

  // Why the module cannot be instrumented, if it declares a built-in that was read with a type that
  // built-ins do not have.
  const Status& status() const { return status_; }

 private:
  using Input = BuiltinVariable;

  const Input& input(spv::BuiltIn builtin, uint32_t size);
  Input create(spv::BuiltIn builtin, uint32_t size);
  uint32_t load(InstructionBuilder& code, const Input& input);
  // Whether it is a type of a built-in of so many components.
  bool fits(spv::BuiltIn builtin, uint32_t size, uint32_t type) const;

  PassContext& context_;
  std::vector<Input> inputs_;
  Status status_;
};

// Which invocations count: all but helpers, those that were demoted included. In stages without
// helpers there is nothing to ask.
//
// What the built-in says after a demotion is undefined, or asks for Volatile, which not all drivers
// take; a copy made at the beginning is wrong in some shaders on NVIDIA's 580. A module that
// demotes may use the instruction.
class HelperMask {
 public:
  HelperMask(PassContext& context, Builtins& builtins) : context_(context), builtins_(builtins) {}

  // A boolean; 0 if all invocations count.
  uint32_t is_live(InstructionBuilder& code) const;

 private:
  PassContext& context_;
  Builtins& builtins_;
};

}  // namespace tally::spirv
