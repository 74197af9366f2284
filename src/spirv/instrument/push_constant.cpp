#include "spirv/instrument/push_constant.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "spirv/analysis/block_extent.h"
#include "spirv/ir/newer_enums.h"

namespace tally::spirv {
namespace {

using spv::Op;

constexpr auto kPushConstant = static_cast<uint32_t>(spv::StorageClass::PushConstant);

bool is_push_constant(const Module& module, uint32_t id) {
  const auto variable = module.definition(id);
  return variable && variable->operand(0) == kPushConstant &&
         (variable->opcode() == Op::OpVariable ||
          variable->opcode() == newer::OpUntypedVariableKHR);
}

bool is_untyped_chain(Op opcode) {
  return opcode == newer::OpUntypedAccessChainKHR ||
         opcode == newer::OpUntypedInBoundsAccessChainKHR ||
         opcode == newer::OpUntypedPtrAccessChainKHR ||
         opcode == newer::OpUntypedInBoundsPtrAccessChainKHR;
}

// Calls visit(id) for every operand of an instruction that may be a push-constant variable.
template <typename Visit>
void for_each_pointer(const Instruction& instruction, Visit&& visit) {
  if (is_untyped_chain(instruction.opcode())) visit(instruction.operand(1));
  switch (instruction.opcode()) {
    case Op::OpLoad:
    case Op::OpAccessChain:
    case Op::OpInBoundsAccessChain:
    case Op::OpPtrAccessChain:
    case Op::OpInBoundsPtrAccessChain:
    case Op::OpCopyObject:
      visit(instruction.operand(0));
      return;
    case Op::OpCopyMemory:
    case Op::OpCopyMemorySized:
      visit(instruction.operand(1));
      return;
    case Op::OpFunctionCall:
      for (size_t i = 1; i < instruction.operand_count(); ++i) visit(instruction.operand(i));
      return;
    default:
      return;
  }
}

Result<uint32_t> used_variable(const Module& module, const EntryPoint& entry) {
  std::vector<uint32_t> used;
  for (const uint32_t f : module.reachable_functions(entry.function_id)) {
    const Function& function = module.functions()[f];
    for (uint32_t i = function.begin; i < function.end; ++i) {
      for_each_pointer(module.instruction(i), [&](uint32_t id) {
        if (is_push_constant(module, id)) used.push_back(id);
      });
    }
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  if (used.size() > 1) return Error{"the entry point uses two push-constant blocks"};
  return used.empty() ? 0 : used.front();
}

// A push-constant variable that the entry point does not use but that drivers still see, 0 if there
// is none. Mesa supports one such variable in the interface, or before SPIR-V 1.4 in the module.
uint32_t idle_variable(const Module& module, const EntryPoint& entry) {
  if (module.version() >= make_version(1, 4)) {
    const auto listed = std::ranges::find_if(
        entry.interface, [&](uint32_t id) { return is_push_constant(module, id); });
    return listed != entry.interface.end() ? *listed : 0;
  }
  uint32_t lowest = 0;
  const uint32_t globals_end = section_ends(module)[static_cast<size_t>(Section::Global)];
  for (uint32_t i = 0; i < globals_end; ++i) {
    const uint32_t id = module.instruction(i).result_id();
    if (is_push_constant(module, id) && (lowest == 0 || id < lowest)) lowest = id;
  }
  return lowest;
}

class BlockExtension {
 public:
  BlockExtension(Editor& editor, uint32_t variable)
      : editor_(editor), module_(editor.module()), variable_(variable) {}

  Result<PushConstantMember> extend(uint32_t type, uint32_t offset) {
    const auto variable = module_.definition(variable_);
    const auto pointer = module_.definition(variable->type_id());
    if (variable->opcode() != Op::OpVariable || !pointer) {
      return Error{"its push-constant block has no type"};
    }
    block_ = pointer->operand(1);
    const auto block = module_.definition(block_);
    if (!block || block->opcode() != Op::OpTypeStruct ||
        !module_.decoration(block_, spv::Decoration::Block)) {
      return Error{"its push constants are not a block"};
    }
    members_.assign(block->operands().begin(), block->operands().end());
    if (Status status = check_extent(offset); !status) return status.error();
    if (Status status = check_uses(); !status) return status.error();
    rewrite_loads();
    retype(make_block(type, offset));
    return PushConstantMember{variable_, static_cast<uint32_t>(members_.size())};
  }

 private:
  Status check_extent(uint32_t offset) const {
    if (block_extent(module_, block_) <= offset) return {};
    return Error{fmt::format("its push-constant block extends beyond byte {}", offset)};
  }

  uint32_t make_block(uint32_t type, uint32_t offset) {
    std::vector<uint32_t> members = members_;
    members.push_back(type);
    const uint32_t block = editor_.new_struct(members);
    for (const uint32_t index : module_.decorations_of(block_)) copy_decoration(index, block);
    editor_.decorate_member(block, static_cast<uint32_t>(members_.size()), spv::Decoration::Offset,
                            {offset});
    return block;
  }

  void copy_decoration(uint32_t index, uint32_t target) {
    const auto original = module_.instruction(index).words();
    std::vector<uint32_t> words(original.begin(), original.end());
    words[1] = target;
    InstructionBuilder code = editor_.new_code();
    code.append(words);
    editor_.insert_after(index, code);
  }

  // Moves the variable after all types, with its new type, and all debug information about it.
  void retype(uint32_t block) {
    const uint32_t globals_end = section_ends(module_)[static_cast<size_t>(Section::Global)];
    const uint32_t definition = module_.definition_index(variable_);
    const uint32_t pointer = editor_.type_pointer(spv::StorageClass::PushConstant, block);
    InstructionBuilder moved = editor_.new_code();
    moved.emit_as(variable_, Op::OpVariable, pointer, std::vector<uint32_t>{kPushConstant});
    editor_.remove(definition);
    std::unordered_set<uint32_t> moved_ids{variable_};
    for (uint32_t i = definition + 1; i < globals_end; ++i) {
      const Instruction instruction = module_.instruction(i);
      if (instruction.opcode() != Op::OpExtInst) continue;
      const auto operands =
          instruction.operands().subspan(std::min<size_t>(2, instruction.operand_count()));
      const auto is_moved = [&](uint32_t id) { return moved_ids.contains(id); };
      if (std::ranges::none_of(operands, is_moved)) continue;
      moved.append(instruction.words());
      moved_ids.insert(instruction.result_id());
      editor_.remove(i);
    }
    editor_.insert_before(globals_end, moved);
  }

  // Calls visit(index, instruction) for all instructions that refer to the variable.
  template <typename Visit>
  void for_each_use(Visit&& visit) const {
    for (const Function& function : module_.functions()) {
      for (uint32_t i = function.begin; i < function.end; ++i) {
        const Instruction instruction = module_.instruction(i);
        bool names_it = false;
        for_each_pointer(instruction, [&](uint32_t id) { names_it |= id == variable_; });
        if (names_it) visit(i, instruction);
      }
    }
  }

  Status check_uses() const {
    bool known = true;
    for_each_use([&](uint32_t, const Instruction& use) {
      known &= use.opcode() == Op::OpLoad || is_member_access(use);
    });
    if (!known) return Error{"it takes the address of its push-constant block"};
    return {};
  }

  void rewrite_loads() {
    for_each_use([&](uint32_t index, const Instruction& use) {
      if (use.opcode() == Op::OpLoad) rewrite_load(index, use);
    });
  }

  static bool is_member_access(const Instruction& instruction) {
    return (instruction.opcode() == Op::OpAccessChain ||
            instruction.opcode() == Op::OpInBoundsAccessChain) &&
           instruction.operand_count() > 1;
  }

  void rewrite_load(uint32_t index, const Instruction& load) {
    InstructionBuilder code = editor_.new_code();
    std::vector<uint32_t> values;
    for (uint32_t member = 0; member < members_.size(); ++member) {
      const uint32_t type = members_[member];
      const uint32_t pointer = editor_.type_pointer(spv::StorageClass::PushConstant, type);
      values.push_back(
          code.load(type, code.access_chain(pointer, variable_, {editor_.constant_u32(member)})));
    }
    code.emit_as(load.result_id(), Op::OpCompositeConstruct, load.type_id(), values);
    editor_.replace(index, code);
  }

  Editor& editor_;
  const Module& module_;
  uint32_t variable_;
  uint32_t block_ = 0;
  std::vector<uint32_t> members_;  // types
};

PushConstantMember new_variable(Editor& editor, const EntryPoint& entry, uint32_t type,
                                uint32_t offset) {
  const uint32_t block = editor.new_struct({type});
  editor.decorate(block, spv::Decoration::Block);
  editor.decorate_member(block, 0, spv::Decoration::Offset, {offset});
  const uint32_t variable = editor.new_global_variable(
      editor.type_pointer(spv::StorageClass::PushConstant, block), spv::StorageClass::PushConstant);
  editor.add_to_interface(entry, variable);
  return {variable, 0};
}

}  // namespace

Result<PushConstantMember> add_push_constant(Editor& editor, const EntryPoint& entry, uint32_t type,
                                             uint32_t offset) {
  const auto used = used_variable(editor.module(), entry);
  if (!used) return used.error();
  if (*used != 0) return BlockExtension(editor, *used).extend(type, offset);
  if (const uint32_t idle = idle_variable(editor.module(), entry)) {
    // On failure nothing has been edited.
    const auto extended = BlockExtension(editor, idle).extend(type, offset);
    if (extended) return extended;
  }
  return new_variable(editor, entry, type, offset);
}

}  // namespace tally::spirv
