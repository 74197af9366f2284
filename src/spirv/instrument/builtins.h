// Reads built-in inputs in instrumented code. Uses the entry point's variable if there is one,
// since a second variable with the same built-in is not allowed; otherwise adds one.
#pragma once

#include <optional>
#include <vector>

#include "spirv/instrument/context.h"

namespace tally::spirv {

// A variable of the entry point that is a built-in or a block with a built-in member.
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

  static bool is_float(spv::BuiltIn builtin);
  // A component of an integer or float built-in of `size` components, as a 32-bit unsigned integer.
  uint32_t number(InstructionBuilder& code, spv::BuiltIn builtin, uint32_t size,
                  uint32_t component);
  // (component >> shift) of a float up to a constant, with rounding. The float must be below 2^23.
  uint32_t shifted(InstructionBuilder& code, const ShardTerm& term);
  // SubgroupLocalInvocationId. Needs the capability GroupNonUniform.
  uint32_t lane(InstructionBuilder& code) {
    return number(code, spv::BuiltIn::SubgroupLocalInvocationId, 1, 0);
  }
  // SubgroupLtMask: four words. Needs the capability GroupNonUniformBallot.
  uint32_t lanes_below(InstructionBuilder& code);
  // HelperInvocation.
  uint32_t is_helper(InstructionBuilder& code);
  // The first word of SampleMask, as a 32-bit unsigned integer.
  uint32_t sample_mask(InstructionBuilder& code);

  // An error if the module declares one of the built-ins read with an invalid type.
  const Status& status() const { return status_; }

 private:
  using Input = BuiltinVariable;

  const Input& input(spv::BuiltIn builtin, uint32_t size);
  Input create(spv::BuiltIn builtin, uint32_t size);
  uint32_t load(InstructionBuilder& code, const Input& input);
  // A component, with the built-in's own type.
  uint32_t load_component(InstructionBuilder& code, const Input& input, uint32_t size,
                          uint32_t component, uint32_t* type);
  // True if `type` is valid for a built-in of `size` components.
  bool fits(spv::BuiltIn builtin, uint32_t size, uint32_t type) const;

  PassContext& context_;
  std::vector<Input> inputs_;
  Status status_;
};

// Which invocations count: all but helpers, including invocations that were demoted to helpers.
//
// After a demotion, HelperInvocation is undefined unless it is read as Volatile, which not all
// drivers accept. A copy made at the start is wrong in some shaders on NVIDIA 580. Modules that
// demote therefore use OpIsHelperInvocationEXT.
class HelperMask {
 public:
  HelperMask(PassContext& context, Builtins& builtins) : context_(context), builtins_(builtins) {}

  // A boolean; 0 if all invocations of the stage count.
  uint32_t is_live(InstructionBuilder& code) const;

 private:
  PassContext& context_;
  Builtins& builtins_;
};

}  // namespace tally::spirv
