#include "spirv/instrument/instance_index.h"

#include <algorithm>
#include <vector>

#include "probe/record.h"

namespace tally::spirv {
namespace {

using spv::BuiltIn;
using spv::Op;

bool holds_instance_index(uint32_t builtin) {
  return builtin == word(BuiltIn::InstanceIndex) || builtin == word(BuiltIn::BaseInstance);
}

// The variables that contain a packed draw index, ascending.
Result<std::vector<uint32_t>> find_variables(const Module& module) {
  if (module.decorates_in_groups()) return Error{"it has decoration groups"};
  std::vector<uint32_t> variables;
  for (const uint32_t index : module.decorations()) {
    const Instruction decoration = module.instruction(index);
    const bool of_member = decoration.opcode() == Op::OpMemberDecorate;
    if (!of_member && decoration.opcode() != Op::OpDecorate) continue;
    if (decoration.operand(of_member ? 2 : 1) != word(spv::Decoration::BuiltIn)) continue;
    if (!holds_instance_index(decoration.operand(of_member ? 3 : 2))) continue;
    if (of_member) return Error{"its instance index is a member of a block"};
    variables.push_back(decoration.operand(0));
  }
  return variables;
}

// The operands of an instruction that may be pointers. May include literals, masks and scopes that
// look like one of the variables; the shader is then refused although it could be supported.
std::span<const uint32_t> pointers(const Module& module, const Instruction& instruction) {
  const std::span<const uint32_t> operands = instruction.operands();
  switch (instruction.opcode()) {
    case Op::OpLoad:
      return operands.first(std::min<size_t>(1, operands.size()));
    case Op::OpStore:
    case Op::OpCopyMemory:
      return operands.first(std::min<size_t>(2, operands.size()));
    case Op::OpExtInst:
      if (is_debug_information(module.ext_inst_set(instruction.operand(0)))) return {};
      return operands.subspan(std::min<size_t>(2, operands.size()));
    case Op::OpLine:
    case Op::OpFunction:
    case Op::OpVectorShuffle:
    case Op::OpCompositeExtract:
    case Op::OpCompositeInsert:
    case Op::OpLoopMerge:
    case Op::OpSelectionMerge:
    case Op::OpBranchConditional:
    case Op::OpSwitch:
      return {};
    default:
      return operands;
  }
}

class InstanceIndex {
 public:
  InstanceIndex(PassContext& context, const TaggedRecordPointers& pointers)
      : context_(context),
        editor_(context.editor),
        pointers_(pointers),
        u32_(editor_.type_int(32)) {}

  Status hide(std::span<const uint32_t> variables) {
    if (variables.empty()) return {};
    const Module& module = context_.module();
    const auto is_one = [&](uint32_t id) { return std::ranges::binary_search(variables, id); };
    for (const uint32_t f : module.reachable_functions(context_.entry.function_id)) {
      const Function& function = module.functions()[f];
      for (uint32_t index = function.begin; index < function.end; ++index) {
        const Instruction instruction = module.instruction(index);
        if (std::ranges::none_of(pointers(module, instruction), is_one)) continue;
        if (Status status = hide_in(index, instruction); !status) return status;
      }
    }
    if (mask_ != 0) make_mask_function();
    return {};
  }

 private:
  Status hide_in(uint32_t index, const Instruction& use) {
    if (use.opcode() != Op::OpLoad) {
      return Error{"it uses its instance index in other ways than loading it"};
    }
    const auto type = context_.module().definition(use.type_id());
    if (!type || type->opcode() != Op::OpTypeInt || type->operand(0) != 32) {
      return Error{"its instance index is not a 32-bit integer"};
    }
    if (mask_ == 0) mask_ = editor_.new_id();
    InstructionBuilder code = editor_.new_code();
    const uint32_t whole = code.emit(Op::OpLoad, use.type_id(), use.operands());
    const uint32_t mask = code.call(u32_, mask_);
    code.emit_as(use.result_id(), Op::OpBitwiseAnd, use.type_id(),
                 std::vector<uint32_t>{whole, mask});
    editor_.replace(index, code);
    return {};
  }

  // uint mask() { return (draw indices are packed) ? 0xffff : 0xffffffff; }
  void make_mask_function() {
    editor_.name(mask_, "tally.instance_mask");
    InstructionBuilder code = editor_.new_code();
    code.emit_as(mask_, Op::OpFunction, u32_, std::vector{0u, editor_.type_function(u32_)});
    code.label(code.new_id());
    const uint32_t tag =
        pointers_.numbered_draws(code, pointers_.load(code, TaggedRecordPointers::Kind::Record));
    const uint32_t packed =
        code.emit(Op::OpINotEqual, editor_.type_bool(), {tag, editor_.constant_u32(0)});
    const uint32_t low_half = editor_.constant_u32((1u << probe::kPackedDrawIndexShift) - 1);
    const uint32_t mask =
        code.emit(Op::OpSelect, u32_, {packed, low_half, editor_.constant_u32(~0u)});
    code.emit(Op::OpReturnValue, {mask});
    code.emit(Op::OpFunctionEnd);
    context_.add_function(code);
  }

  PassContext& context_;
  Editor& editor_;
  const TaggedRecordPointers& pointers_;
  uint32_t u32_;
  uint32_t mask_ = 0;  // the function, 0 if it is not needed
};

}  // namespace

Status hide_packed_draw_index(PassContext& context, const TaggedRecordPointers& pointers) {
  const auto variables = find_variables(context.module());
  if (!variables) return variables.error();
  return InstanceIndex(context, pointers).hide(*variables);
}

}  // namespace tally::spirv
