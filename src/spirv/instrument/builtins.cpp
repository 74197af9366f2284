#include "spirv/instrument/builtins.h"

#include <algorithm>
#include <bit>

namespace tally::spirv {
namespace {

using spv::BuiltIn;
using spv::Op;
using spv::StorageClass;

bool is_boolean(BuiltIn builtin) { return builtin == BuiltIn::HelperInvocation; }

}  // namespace

bool Builtins::is_float(BuiltIn builtin) { return builtin == BuiltIn::FragCoord; }

std::optional<BuiltinVariable> find_builtin(const Module& module, const EntryPoint& entry,
                                            StorageClass storage, BuiltIn builtin) {
  for (const uint32_t variable : entry.interface) {
    const auto definition = module.definition(variable);
    if (!definition || definition->opcode() != Op::OpVariable) continue;
    if (definition->operand(0) != word(storage)) continue;
    const auto pointer = module.definition(definition->type_id());
    if (!pointer || pointer->opcode() != Op::OpTypePointer) continue;
    const uint32_t type = pointer->operand(1);
    if (module.decoration(variable, spv::Decoration::BuiltIn) == word(builtin)) {
      return BuiltinVariable{builtin, variable, type, std::nullopt};
    }
    const auto block = module.definition(type);
    if (!block || block->opcode() != Op::OpTypeStruct) continue;
    for (uint32_t member = 0; member < block->operand_count(); ++member) {
      if (module.member_decoration(type, member, spv::Decoration::BuiltIn) == word(builtin)) {
        return BuiltinVariable{builtin, variable, block->operand(member), member};
      }
    }
  }
  return std::nullopt;
}

Builtins::Input Builtins::create(BuiltIn builtin, uint32_t size) {
  Editor& editor = context_.editor;
  uint32_t type = is_boolean(builtin) ? editor.type_bool()
                  : is_float(builtin) ? editor.type_float(32)
                                      : editor.type_int(32);
  if (size > 1) type = editor.type_vector(type, size);
  if (builtin == BuiltIn::SampleMask) type = editor.new_array(type, editor.constant_u32(1));
  const uint32_t variable = editor.new_global_variable(
      editor.type_pointer(StorageClass::Input, type), StorageClass::Input);
  editor.decorate(variable, spv::Decoration::BuiltIn, {word(builtin)});
  const bool interpolated = is_float(builtin) || is_boolean(builtin);
  if (context_.entry.model == spv::ExecutionModel::Fragment && !interpolated) {
    editor.decorate(variable, spv::Decoration::Flat);
  }
  editor.add_to_interface(context_.entry, variable);
  return {builtin, variable, type, std::nullopt};
}

const Builtins::Input& Builtins::input(BuiltIn builtin, uint32_t size) {
  const auto known = std::ranges::find(inputs_, builtin, &Input::builtin);
  if (known != inputs_.end()) return *known;
  const auto found = find_builtin(context_.module(), context_.entry, StorageClass::Input, builtin);
  inputs_.push_back(found ? *found : create(builtin, size));
  if (found && builtin != BuiltIn::SampleMask && !fits(builtin, size, found->type)) {
    status_ = Error{"it declares a built-in with an invalid type"};
  }
  return inputs_.back();
}

bool Builtins::fits(BuiltIn builtin, uint32_t size, uint32_t type) const {
  auto definition = context_.module().definition(type);
  if (size > 1) {
    if (!definition || definition->opcode() != Op::OpTypeVector) return false;
    if (definition->operand(1) < size) return false;
    definition = context_.module().definition(definition->operand(0));
  }
  if (!definition) return false;
  if (is_boolean(builtin)) return definition->opcode() == Op::OpTypeBool;
  const Op opcode = is_float(builtin) ? Op::OpTypeFloat : Op::OpTypeInt;
  return definition->opcode() == opcode && definition->operand(0) == 32;
}

uint32_t Builtins::load(InstructionBuilder& code, const Input& input) {
  Editor& editor = context_.editor;
  uint32_t pointer = input.variable;
  if (input.member) {
    pointer = code.access_chain(editor.type_pointer(StorageClass::Input, input.type), pointer,
                                {editor.constant_u32(*input.member)});
  }
  return code.load(input.type, pointer);
}

uint32_t Builtins::load_component(InstructionBuilder& code, const Input& input, uint32_t size,
                                  uint32_t component, uint32_t* type) {
  Editor& editor = context_.editor;
  const uint32_t value = load(code, input);
  *type = input.type;
  if (const auto vector = context_.module().definition(input.type);
      vector && vector->opcode() == Op::OpTypeVector) {
    *type = vector->operand(0);
  } else if (size > 1) {
    *type = is_float(input.builtin) ? editor.type_float(32) : editor.type_int(32);
  } else {
    return value;
  }
  return code.emit(Op::OpCompositeExtract, *type, {value, component});
}

uint32_t Builtins::number(InstructionBuilder& code, BuiltIn builtin, uint32_t size,
                          uint32_t component) {
  uint32_t type = 0;
  const Input from = input(builtin, size);
  const uint32_t value = load_component(code, from, size, component, &type);
  const uint32_t u32 = context_.editor.type_int(32);
  if (is_float(builtin)) return code.emit(Op::OpConvertFToU, u32, {value});
  return type == u32 ? value : code.emit(Op::OpBitcast, u32, {value});
}

// The last bit of a float between 2^n and 2^(n + 1) is worth 2^(n - 23), so adding 2^(23 + shift)
// shifts the number into the lowest bits.
uint32_t Builtins::shifted(InstructionBuilder& code, const ShardTerm& term) {
  Editor& editor = context_.editor;
  uint32_t type = 0;
  const Input from = input(term.builtin, term.size);
  const uint32_t value = load_component(code, from, term.size, term.component, &type);
  const auto power = std::bit_cast<uint32_t>(static_cast<float>(1u << (23 + term.shift)));
  const uint32_t added = code.emit(Op::OpBitcast, type, {editor.constant_u32(power)});
  return code.emit(Op::OpBitcast, editor.type_int(32),
                   {code.emit(Op::OpFAdd, type, {value, added})});
}

uint32_t Builtins::lanes_below(InstructionBuilder& code) {
  return load(code, input(BuiltIn::SubgroupLtMask, 4));
}

uint32_t Builtins::is_helper(InstructionBuilder& code) {
  return load(code, input(BuiltIn::HelperInvocation, 1));
}

uint32_t Builtins::sample_mask(InstructionBuilder& code) {
  Editor& editor = context_.editor;
  const uint32_t u32 = editor.type_int(32);
  const Input from = input(BuiltIn::SampleMask, 1);
  const auto definition = context_.module().definition(from.type);
  const bool is_array = !definition || definition->opcode() == Op::OpTypeArray;
  const uint32_t type = !definition ? u32 : is_array ? definition->operand(0) : from.type;
  if (definition && !fits(BuiltIn::SampleMask, 1, type))
    status_ = Error{"its SampleMask is not an array of 32-bit integers"};
  std::vector<uint32_t> operands = {from.variable};
  if (from.member) operands.push_back(editor.constant_u32(*from.member));
  if (is_array) operands.push_back(editor.constant_u32(0));
  uint32_t pointer = from.variable;
  if (operands.size() > 1) {
    pointer =
        code.emit(Op::OpAccessChain, editor.type_pointer(StorageClass::Input, type), operands);
  }
  const uint32_t value = code.load(type, pointer);
  return type == u32 ? value : code.emit(Op::OpBitcast, u32, {value});
}

uint32_t HelperMask::is_live(InstructionBuilder& code) const {
  if (!context_.stage.has_helpers) return 0;
  const uint32_t boolean = context_.editor.type_bool();
  const uint32_t helper = context_.demotes ? code.emit(Op::OpIsHelperInvocationEXT, boolean, {})
                                           : builtins_.is_helper(code);
  return code.emit(Op::OpLogicalNot, boolean, {helper});
}

}  // namespace tally::spirv
