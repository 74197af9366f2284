#include "spirv/instrument/push_constant.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "spirv/analysis/interface.h"
#include "spirv/ir/opcode.h"

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

struct PushBlock {
  uint32_t type = 0;
  std::vector<uint32_t> members;  // types
};

// The block type of a variable.
Result<PushBlock> block_of(const Module& module, uint32_t variable_id) {
  const auto variable = module.definition(variable_id);
  const auto pointer = module.definition(variable->type_id());
  if (variable->opcode() != Op::OpVariable || !pointer) {
    return Error{"its push-constant block has no type"};
  }
  const uint32_t type = pointer->operand(1);
  const auto block = module.definition(type);
  if (!block || block->opcode() != Op::OpTypeStruct ||
      !module.decoration(type, spv::Decoration::Block)) {
    return Error{"its push constants are not a block"};
  }
  return PushBlock{type, {block->operands().begin(), block->operands().end()}};
}

// Moves a variable after all types, with a new type, and all debug information about it.
void retype(Editor& editor, uint32_t variable, uint32_t block) {
  const Module& module = editor.module();
  const uint32_t globals_end = section_ends(module)[static_cast<size_t>(Section::Global)];
  const uint32_t definition = module.definition_index(variable);
  const uint32_t pointer = editor.type_pointer(spv::StorageClass::PushConstant, block);
  InstructionBuilder moved = editor.new_code();
  moved.emit_as(variable, Op::OpVariable, pointer, std::vector<uint32_t>{kPushConstant});
  editor.remove(definition);
  std::unordered_set<uint32_t> moved_ids{variable};
  for (uint32_t i = definition + 1; i < globals_end; ++i) {
    const Instruction instruction = module.instruction(i);
    if (instruction.opcode() != Op::OpExtInst) continue;
    const auto operands =
        instruction.operands().subspan(std::min<size_t>(2, instruction.operand_count()));
    const auto is_moved = [&](uint32_t id) { return moved_ids.contains(id); };
    if (std::ranges::none_of(operands, is_moved)) continue;
    moved.append(instruction.words());
    moved_ids.insert(instruction.result_id());
    editor.remove(i);
  }
  editor.insert_before(globals_end, moved);
}

class BlockExtension {
 public:
  BlockExtension(Editor& editor, uint32_t variable)
      : editor_(editor), module_(editor.module()), variable_(variable) {}

  Result<PushConstantMember> extend(uint32_t type, uint32_t offset) {
    const PushBlock block = TALLY_TRY(block_of(module_, variable_));
    block_ = block.type;
    members_ = block.members;
    TALLY_TRY(check_extent(offset));
    TALLY_TRY(check_uses());
    rewrite_loads();
    retype(editor_, variable_, make_block(type, offset));
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

// The widths of the scalars that a type consists of, in bytes.
struct ScalarSizes {
  uint32_t least = UINT32_MAX;
  uint32_t most = 0;  // 0: not known

  bool known() const { return most != 0; }
};

// Visits each type once.
ScalarSizes scalar_sizes(const Module& module, uint32_t type_id) {
  ScalarSizes all;
  std::vector<uint32_t> types = {type_id};
  for (size_t next = 0; next < types.size(); ++next) {
    const auto type = module.definition(types[next]);
    if (!type) return {};
    const auto add = [&types](uint32_t part) {
      if (std::find(types.begin(), types.end(), part) == types.end()) types.push_back(part);
    };
    uint32_t bytes = 0;
    switch (type->opcode()) {
      case Op::OpTypeInt:
      case Op::OpTypeFloat:
        bytes = type->operand(0) / 8;
        break;
      case Op::OpTypePointer:
        bytes = 8;
        break;
      case Op::OpTypeVector:
      case Op::OpTypeMatrix:
      case Op::OpTypeArray:
        add(type->operand(0));
        continue;
      case Op::OpTypeStruct:
        for (const uint32_t member : type->operands()) add(member);
        continue;
      default:
        return {};
    }
    all = {std::min(all.least, bytes), std::max(all.most, bytes)};
  }
  return all;
}

// Small types in memory need features that the device may lack.
constexpr uint32_t kMinScalarBytes = 4;
constexpr uint32_t kVolatile = 1, kAligned = 2, kNontemporal = 4;

// Replaces a block by the address of its bytes.
class BlockMove {
 public:
  BlockMove(const Module& module, uint32_t variable) : module_(module), variable_(variable) {}

  // Call first. Finds all uses.
  Status check() {
    const PushBlock block = TALLY_TRY(block_of(module_, variable_));
    block_ = block.type;
    const ScalarSizes sizes = scalar_sizes(module_, block_);
    if (!sizes.known() || sizes.least < kMinScalarBytes) {
      return Error{"its push-constant block has members that cannot be moved to memory"};
    }
    for (const Function& function : module_.functions()) {
      for (uint32_t i = function.begin; i < function.end; ++i) {
        TALLY_TRY(check_use(i));
      }
    }
    return {};
  }

  PushConstantMember move(Editor& editor, uint32_t type, uint32_t offset, uint32_t address_offset) {
    const uint32_t address_type = editor.type_vector(editor.type_int(32), 2);
    const uint32_t block = editor.new_struct({address_type, type});
    editor.decorate(block, spv::Decoration::Block);
    editor.decorate_member(block, 0, spv::Decoration::Offset, {address_offset});
    editor.decorate_member(block, 1, spv::Decoration::Offset, {offset});
    for (const uint32_t index : uses_) rewrite(editor, index, address_type);
    retype(editor, variable_, block);
    return {variable_, 1};
  }

 private:
  bool is_pointer(uint32_t id) const { return id == variable_ || derived_.contains(id); }

  Status check_use(uint32_t index) {
    const Instruction instruction = module_.instruction(index);
    bool used = false;
    for_each_pointer(instruction, [&](uint32_t id) { used = used || is_pointer(id); });
    if (!used) return {};
    uses_.push_back(index);
    if (is_chain(instruction)) {
      derived_.insert(instruction.result_id());
      return {};
    }
    constexpr uint32_t kKnown = kVolatile | kAligned | kNontemporal;
    const bool known = instruction.opcode() == Op::OpLoad &&
                       (instruction.operand_count() < 2 || (instruction.operand(1) & ~kKnown) == 0);
    if (known && scalar_sizes(module_, instruction.type_id()).known()) return {};
    return Error{"it uses the address of its push constants"};
  }

  static bool is_chain(const Instruction& instruction) {
    return instruction.opcode() == Op::OpAccessChain ||
           instruction.opcode() == Op::OpInBoundsAccessChain;
  }

  void rewrite(Editor& editor, uint32_t index, uint32_t address_type) const {
    const Instruction original = module_.instruction(index);
    std::vector<uint32_t> words(original.words().begin(), original.words().end());
    InstructionBuilder code = editor.new_code();
    constexpr size_t kType = 1, kBase = 3, kMask = 4;
    if (words[kBase] == variable_) words[kBase] = load_address(editor, code, address_type);
    if (is_chain(original)) {
      const auto pointer = module_.definition(original.type_id());
      words[kType] = in_memory(editor, pointer->operand(1));
    } else {
      if (words.size() == kMask) words.push_back(0);
      if ((words[kMask] & kAligned) == 0) {
        words[kMask] |= kAligned;
        words.push_back(scalar_sizes(module_, original.type_id()).most);
      }
      words[0] = static_cast<uint32_t>(words.size()) << 16 | static_cast<uint32_t>(Op::OpLoad);
    }
    code.append(words);
    editor.replace(index, code);
  }

  uint32_t load_address(Editor& editor, InstructionBuilder& code, uint32_t address_type) const {
    const uint32_t pointer =
        code.access_chain(editor.type_pointer(spv::StorageClass::PushConstant, address_type),
                          variable_, {editor.constant_u32(0)});
    return code.emit(Op::OpBitcast, in_memory(editor, block_), {code.load(address_type, pointer)});
  }

  static uint32_t in_memory(Editor& editor, uint32_t type) {
    return editor.type_pointer(spv::StorageClass::PhysicalStorageBuffer, type);
  }

  const Module& module_;
  uint32_t variable_;
  uint32_t block_ = 0;
  std::vector<uint32_t> uses_;            // instructions, ascending
  std::unordered_set<uint32_t> derived_;  // pointers into the block
};

// The variable that the entry point uses, or else an idle one; 0 if there is none.
Result<uint32_t> seen_variable(const Module& module, const EntryPoint& entry) {
  const auto used = used_variable(module, entry);
  return !used || *used != 0 ? used : idle_variable(module, entry);
}

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
  const auto used = TALLY_TRY(used_variable(editor.module(), entry));
  if (used != 0) return BlockExtension(editor, used).extend(type, offset);
  if (const uint32_t idle = idle_variable(editor.module(), entry)) {
    // On failure nothing has been edited.
    auto extended = BlockExtension(editor, idle).extend(type, offset);
    if (extended) return extended;
  }
  return new_variable(editor, entry, type, offset);
}

bool push_constants_extend_beyond(const Module& module, const EntryPoint& entry, uint32_t offset) {
  const auto variable = seen_variable(module, entry);
  if (!variable || *variable == 0) return false;
  const Result<PushBlock> block = block_of(module, *variable);
  return block && block_extent(module, block->type) > offset;
}

bool can_move_push_constants(const Module& module, const EntryPoint& entry) {
  const auto variable = seen_variable(module, entry);
  return variable && (*variable == 0 || BlockMove(module, *variable).check());
}

Result<PushConstantMember> move_push_constants(Editor& editor, const EntryPoint& entry,
                                               uint32_t type, uint32_t offset,
                                               uint32_t address_offset) {
  const auto variable = TALLY_TRY(seen_variable(editor.module(), entry));
  BlockMove move(editor.module(), variable);
  TALLY_TRY(move.check());
  return move.move(editor, type, offset, address_offset);
}

}  // namespace tally::spirv
