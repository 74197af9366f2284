#include "spirv/analysis/induction.h"

#include <algorithm>
#include <ranges>

namespace tally::spirv {

using spv::Op;

bool is_int32(const Module& module, uint32_t type) {
  const auto definition = module.definition(type);
  return definition && definition->opcode() == Op::OpTypeInt && definition->operand(0) == 32;
}

bool is_relaxed(const Module& module, uint32_t id) {
  return module.decoration(id, spv::Decoration::RelaxedPrecision).has_value();
}

std::optional<ConstantStep> constant_step(const Module& module, uint32_t id) {
  const auto sum = module.definition(id);
  if (!sum || !is_int32(module, sum->type_id()) || is_relaxed(module, id)) return std::nullopt;
  const bool adds = sum->opcode() == Op::OpIAdd;
  if (!adds && sum->opcode() != Op::OpISub) return std::nullopt;
  const auto constant = [&](uint32_t operand) -> std::optional<uint32_t> {
    if (module.opcode_of(operand) != Op::OpConstant) return std::nullopt;
    return static_cast<uint32_t>(module.constant_value(operand).value_or(0));
  };
  if (const auto step = constant(sum->operand(1))) {
    return ConstantStep{sum->operand(0), adds ? *step : 0 - *step};
  }
  if (!adds) return std::nullopt;
  const auto step = constant(sum->operand(0));
  return step ? std::optional(ConstantStep{sum->operand(1), *step}) : std::nullopt;
}

IntegerVariables::IntegerVariables(const Module& module, const Function& function, const Cfg& cfg)
    : module_(module), stores_(cfg.blocks().size()) {
  for (uint32_t i = function.begin; i < function.end; ++i) {
    const Instruction instruction = module.instruction(i);
    if (instruction.opcode() == Op::OpVariable) {
      add(instruction);
    } else {
      look_for_other_uses(instruction);
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

uint32_t IntegerVariables::loaded_from(uint32_t id, const CfgBlock& block) const {
  const uint32_t index = module_.definition_index(id);
  if (index == kNone || index <= block.begin || index >= block.end) return 0;
  const Instruction load = module_.instruction(index);
  if (load.opcode() != Op::OpLoad || is_relaxed(module_, id)) return 0;
  return types_.contains(load.operand(0)) ? load.operand(0) : 0;
}

uint32_t IntegerVariables::last_value(uint32_t variable, uint32_t block) const {
  const auto backwards = std::views::reverse(stores_[block]);
  const auto store = std::ranges::find(backwards, variable, &VariableStore::variable);
  return store == backwards.end() ? 0 : store->value;
}

void IntegerVariables::add(const Instruction& variable) {
  const auto pointer = module_.definition(variable.type_id());
  if (!pointer || pointer->opcode() != Op::OpTypePointer) return;
  const uint32_t type = pointer->operand(1);
  if (!is_int32(module_, type) || is_relaxed(module_, variable.result_id())) return;
  types_.emplace(variable.result_id(), type);
}

// A literal may look like an id. Then one variable fewer is found.
void IntegerVariables::look_for_other_uses(const Instruction& instruction) {
  const auto operands = instruction.operands();
  if (instruction.opcode() == Op::OpExtInst &&
      is_debug_information(module_.ext_inst_set(operands[0]))) {
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
