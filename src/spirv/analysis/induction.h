// Shared by the analyses of induction variables: the variables of a function that hold 32-bit
// integers and are only loaded and stored, operations with a constant, and where values come from.
//
// Values that may be computed with less than 32 bits (RelaxedPrecision) are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "spirv/analysis/cfg.h"

namespace tally::spirv {

struct VariableStore {
  uint32_t instruction, variable, value;
};

class IntegerVariables {
 public:
  IntegerVariables(const Module& module, const Function& function, const Cfg& cfg);

  // 0 if `variable` is none of them.
  uint32_t type_of(uint32_t variable) const;
  // Those of a block, in order.
  std::span<const VariableStore> stores(uint32_t block) const { return stores_[block]; }
  // The variable from which an instruction of the block loads `id`, or 0.
  uint32_t loaded_from(const Module& module, uint32_t id, const CfgBlock& block) const;
  // The value that the block stores last in the variable, or 0.
  uint32_t last_value(uint32_t variable, uint32_t block) const;

 private:
  void add(const Module& module, const Instruction& variable);
  void look_for_other_uses(const Module& module, const Instruction& instruction);

  std::unordered_map<uint32_t, uint32_t> types_;  // by variable
  std::vector<std::vector<VariableStore>> stores_;
};

// Where the values and pointers of a function come from, found in one pass in module order, in
// which definitions precede their uses. So chains of any length cost no more than their
// instructions, and an instruction that uses a later one, which is invalid, ends a chain.
class Origins {
 public:
  Origins(const Module& module, const Function& function);

  // The source of a value that OpBitcasts made; a bitcast that may be computed with less than 32
  // bits counts as another value. For a pointer to a member whose indices are constants, the
  // pointer to the whole. For all others the id itself.
  uint32_t of(uint32_t id) const;

 private:
  std::unordered_map<uint32_t, uint32_t> origins_;
};

// A 32-bit sum, product, quotient or shift with a constant.
struct ConstantStep {
  uint32_t from;      // id of the other operand
  spv::Op operation;  // a difference is a sum with the negative number
  uint32_t number;

  uint32_t apply(uint32_t value) const;
};

// How `id` is computed, if by such an operation.
std::optional<ConstantStep> constant_step(const Module& module, uint32_t id);

bool is_int32(const Module& module, uint32_t type);
// Module::fixed_value of a 32-bit integer.
std::optional<uint32_t> fixed_int32(const Module& module, uint32_t id);
bool is_relaxed(const Module& module, uint32_t id);

}  // namespace tally::spirv
