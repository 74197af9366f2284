#include "spirv/analysis/induction.h"

#include <algorithm>

namespace tally::spirv {

using spv::Op;

bool is_int32(const Module& module, uint32_t type) {
  const auto definition = module.definition(type);
  return definition && definition->opcode() == Op::OpTypeInt && definition->operand(0) == 32;
}

std::optional<uint32_t> fixed_int32(const Module& module, uint32_t id) {
  if (!is_int32(module, module.type_of(id))) return std::nullopt;
  const auto value = module.fixed_value(id);
  return value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
}

bool is_relaxed(const Module& module, uint32_t id) {
  return module.decoration(id, spv::Decoration::RelaxedPrecision).has_value();
}

Origins::Origins(const Module& module, const Function& function) {
  const auto is_constant = [&](uint32_t id) { return module.fixed_value(id).has_value(); };
  for (uint32_t i = function.begin; i < function.end; ++i) {
    const Instruction instruction = module.instruction(i);
    const uint32_t from = instruction.operand(0);
    switch (instruction.opcode()) {
      case Op::OpBitcast:
        origins_.emplace(instruction.result_id(), is_relaxed(module, from) ? from : of(from));
        break;
      case Op::OpAccessChain:
      case Op::OpInBoundsAccessChain:
        if (std::ranges::all_of(instruction.operands().subspan(1), is_constant)) {
          origins_.emplace(instruction.result_id(), of(from));
        }
        break;
      default:
        break;
    }
  }
}

uint32_t Origins::of(uint32_t id) const {
  const auto found = origins_.find(id);
  return found == origins_.end() ? id : found->second;
}

uint32_t ConstantStep::apply(uint32_t value) const {
  const auto as_signed = static_cast<int32_t>(value);
  switch (operation) {
    case Op::OpIAdd:
      return value + number;
    case Op::OpIMul:
      return value * number;
    case Op::OpUDiv:
      return value / number;
    case Op::OpSDiv:
      return static_cast<uint32_t>(as_signed / static_cast<int32_t>(number));
    case Op::OpShiftLeftLogical:
      return value << number;
    case Op::OpShiftRightLogical:
      return value >> number;
    default:
      return static_cast<uint32_t>(as_signed >> number);
  }
}

std::optional<ConstantStep> constant_step(const Module& module, uint32_t id) {
  const auto result = module.definition(id);
  if (!result || !is_int32(module, result->type_id()) || is_relaxed(module, id)) {
    return std::nullopt;
  }
  const auto constant = [&](uint32_t operand) { return fixed_int32(module, operand); };
  const auto one = constant(result->operand(0)), other = constant(result->operand(1));
  const auto step = [&](bool is_defined) {
    return is_defined ? std::optional(ConstantStep{result->operand(0), result->opcode(), *other})
                      : std::nullopt;
  };
  switch (result->opcode()) {
    case Op::OpISub:
      if (!other) return std::nullopt;
      return ConstantStep{result->operand(0), Op::OpIAdd, 0 - *other};
    case Op::OpIAdd:
    case Op::OpIMul:
      if (other) return step(true);
      if (one) return ConstantStep{result->operand(1), result->opcode(), *one};
      return std::nullopt;
    case Op::OpUDiv:
      return step(other && *other != 0);
    case Op::OpSDiv:
      return step(other && *other != 0 && *other != ~0u);
    case Op::OpShiftLeftLogical:
    case Op::OpShiftRightLogical:
    case Op::OpShiftRightArithmetic:
      return step(other && *other < 32);
    default:
      return std::nullopt;
  }
}

IntegerVariables::IntegerVariables(const Module& module, const Function& function, const Cfg& cfg)
    : stores_(cfg.blocks().size()) {
  for (uint32_t i = function.begin; i < function.end; ++i) {
    const Instruction instruction = module.instruction(i);
    if (instruction.opcode() == Op::OpVariable) {
      add(module, instruction);
    } else {
      look_for_other_uses(module, instruction);
    }
  }
  for (uint32_t b = 0; b < stores_.size(); ++b) {
    for (uint32_t i = cfg.blocks()[b].begin; i < cfg.blocks()[b].end; ++i) {
      const Instruction store = module.instruction(i);
      if (store.opcode() != Op::OpStore || !types_.contains(store.operand(0))) continue;
      stores_[b].push_back({i, store.operand(0), store.operand(1)});
    }
  }
}

uint32_t IntegerVariables::type_of(uint32_t variable) const {
  const auto found = types_.find(variable);
  return found == types_.end() ? 0 : found->second;
}

uint32_t IntegerVariables::loaded_from(const Module& module, uint32_t id,
                                       const CfgBlock& block) const {
  const uint32_t index = module.definition_index(id);
  if (index == kNone || index <= block.begin || index >= block.end) return 0;
  const Instruction load = module.instruction(index);
  if (load.opcode() != Op::OpLoad || is_relaxed(module, id)) return 0;
  return types_.contains(load.operand(0)) ? load.operand(0) : 0;
}

uint32_t IntegerVariables::last_value(uint32_t variable, uint32_t block) const {
  const std::vector<VariableStore>& stores = stores_[block];
  const auto store = std::find_if(stores.rbegin(), stores.rend(), [&](const VariableStore& one) {
    return one.variable == variable;
  });
  return store == stores.rend() ? 0 : store->value;
}

void IntegerVariables::add(const Module& module, const Instruction& variable) {
  const auto pointer = module.definition(variable.type_id());
  if (!pointer || pointer->opcode() != Op::OpTypePointer) return;
  const uint32_t type = pointer->operand(1);
  if (!is_int32(module, type) || is_relaxed(module, variable.result_id())) return;
  types_.emplace(variable.result_id(), type);
}

// A literal may look like an id. Then one variable fewer is found.
void IntegerVariables::look_for_other_uses(const Module& module, const Instruction& instruction) {
  const auto operands = instruction.operands();
  if (instruction.opcode() == Op::OpExtInst &&
      is_debug_information(module.ext_inst_set(operands[0]))) {
    return;
  }
  size_t pointers = 0;
  if (instruction.opcode() == Op::OpLoad && operands.size() == 1) pointers = 1;
  if (instruction.opcode() == Op::OpStore && operands.size() == 2) pointers = 1;
  for (const uint32_t operand : operands.subspan(std::min(pointers, operands.size()))) {
    types_.erase(operand);
  }
}

}  // namespace tally::spirv
