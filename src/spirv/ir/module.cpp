#include "spirv/ir/module.h"

#include <algorithm>

#include "spirv/ir/newer_enums.h"

namespace tally::spirv {

Instruction Module::instruction(size_t index) const {
  const uint32_t begin = offsets_[index];
  return Instruction(std::span(words_).subspan(begin, offsets_[index + 1] - begin), begin);
}

std::optional<Instruction> Module::definition(uint32_t id) const {
  const uint32_t index = definition_index(id);
  if (index == kNone) return std::nullopt;
  return instruction(index);
}

spv::Op Module::opcode_of(uint32_t id) const {
  const uint32_t index = definition_index(id);
  if (index == kNone) return spv::Op::OpNop;
  return static_cast<spv::Op>(words_[offsets_[index]] & spv::OpCodeMask);
}

uint32_t Module::type_of(uint32_t id) const {
  const uint32_t index = definition_index(id);
  return index == kNone ? 0 : instruction(index).type_id();
}

bool Module::is_global_variable(uint32_t id) const {
  const uint32_t index = definition_index(id);
  const bool is_global = functions_.empty() || index < functions_.front().begin;
  if (index == kNone || !is_global) return false;
  const spv::Op opcode = opcode_of(id);
  return opcode == spv::Op::OpVariable || opcode == newer::OpUntypedVariableKHR;
}

const EntryPoint* Module::find_entry_point(spv::ExecutionModel model, std::string_view name) const {
  for (const EntryPoint& entry : entry_points_) {
    if (entry.model == model && entry.name == name) return &entry;
  }
  return nullptr;
}

uint32_t Module::function_index(uint32_t function_id) const {
  const uint32_t definition = definition_index(function_id);
  if (definition == kNone) return kNone;
  const auto found =
      std::lower_bound(functions_.begin(), functions_.end(), definition,
                       [](const Function& function, uint32_t at) { return function.begin < at; });
  if (found == functions_.end() || found->begin != definition) return kNone;
  return static_cast<uint32_t>(found - functions_.begin());
}

std::string Module::name_of(uint32_t id) const {
  const std::span<const uint32_t> found = names_.of(id);
  return found.empty() ? std::string() : instruction(found.front()).string(1);
}

std::span<const uint32_t> Module::About::of(uint32_t id) const {
  const auto [begin, end] = std::equal_range(ids.begin(), ids.end(), id);
  return std::span(instructions)
      .subspan(static_cast<size_t>(begin - ids.begin()), static_cast<size_t>(end - begin));
}

std::optional<uint32_t> Module::decoration(uint32_t id, spv::Decoration decoration) const {
  for (const uint32_t index : decorations_of(id)) {
    const Instruction found = instruction(index);
    if (found.opcode() == spv::Op::OpDecorate &&
        found.operand(1) == static_cast<uint32_t>(decoration)) {
      return found.operand(2);
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> Module::member_decoration(uint32_t struct_id, uint32_t member,
                                                  spv::Decoration decoration) const {
  for (const uint32_t index : decorations_of(struct_id)) {
    const Instruction found = instruction(index);
    if (found.opcode() == spv::Op::OpMemberDecorate && found.operand(1) == member &&
        found.operand(2) == static_cast<uint32_t>(decoration)) {
      return found.operand(3);
    }
  }
  return std::nullopt;
}

bool Module::decorates_in_groups() const {
  for (size_t index = 0; index < instruction_count(); ++index) {
    const spv::Op opcode = instruction(index).opcode();
    if (opcode == spv::Op::OpGroupDecorate || opcode == spv::Op::OpGroupMemberDecorate) return true;
    if (opcode == spv::Op::OpFunction) return false;
  }
  return false;
}

bool Module::has_spec_id(uint32_t spec_id) const {
  return std::ranges::any_of(decorations(), [&](uint32_t index) {
    const Instruction found = instruction(index);
    return found.opcode() == spv::Op::OpDecorate &&
           found.operand(1) == static_cast<uint32_t>(spv::Decoration::SpecId) &&
           found.operand(2) == spec_id;
  });
}

bool Module::has_capability(spv::Capability capability) const {
  return std::find(capabilities_.begin(), capabilities_.end(), static_cast<uint32_t>(capability)) !=
         capabilities_.end();
}

bool Module::has_extension(std::string_view name) const {
  return std::any_of(extensions_.begin(), extensions_.end(),
                     [&](uint32_t index) { return instruction(index).string(0) == name; });
}

uint32_t Module::ext_inst_import(std::string_view name) const {
  for (const Import& import : imports_) {
    if (instruction(import.instruction).string(0) == name) return import.id;
  }
  return 0;
}

ExtInstSet Module::ext_inst_set(uint32_t import_id) const {
  const uint32_t index = definition_index(import_id);
  const auto found = std::ranges::lower_bound(imports_, index, {}, &Import::instruction);
  return found == imports_.end() || found->instruction != index ? ExtInstSet::None : found->set;
}

}  // namespace tally::spirv
