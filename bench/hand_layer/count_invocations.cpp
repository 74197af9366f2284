#include "hand_layer/count_invocations.h"

#include <cstddef>

#include "spirv/analysis/early_tests.h"
#include "spirv/ir/editor.h"

namespace tally::bench {
namespace {

using spirv::Editor;
using spirv::InstructionBuilder;
using spv::Op;

constexpr uint32_t kLocation = 30;

constexpr uint32_t word(auto value) { return static_cast<uint32_t>(value); }

class Counting {
 public:
  Counting(Editor& editor, const spirv::EntryPoint& entry, const CountInvocations& options)
      : editor_(editor),
        entry_(entry),
        options_(options),
        boolean_(editor.type_bool()),
        u32_(editor.type_int(32)),
        u64_(editor.type_int(64)) {
    if (!options.as_layer) return;
    if (is(spv::ExecutionModel::Vertex)) {
      passed_on_ = new_variable(spv::StorageClass::Output, spv::Decoration::Location, kLocation);
      const auto existing = editor.builtin_variable(spv::BuiltIn::InstanceIndex);
      instance_index_ = existing.value_or(0);
      if (!existing) {
        instance_index_ = new_variable(spv::StorageClass::Input, spv::Decoration::BuiltIn,
                                       word(spv::BuiltIn::InstanceIndex));
      }
    }
    if (is(spv::ExecutionModel::Fragment)) {
      passed_on_ = new_variable(spv::StorageClass::Input, spv::Decoration::Location, kLocation);
    }
    if (passed_on_ != 0) editor.decorate(passed_on_, spv::Decoration::Flat);
  }

  void emit(InstructionBuilder& code) {
    uint32_t address = editor_.constant_u64(options_.counter);
    uint32_t adds = 0;      // whether the lane adds; 0: it does
    uint32_t distance = 0;  // to the counter of the draw
    if (options_.as_layer) {
      address = load(code, u64_, offsetof(Counter, address));
      adds = code.emit(Op::OpINotEqual, boolean_, {address, editor_.constant_u64(0)});
      distance = distance_of_draw(code);
    }
    uint32_t value = editor_.constant_u64(1);
    uint32_t never = distance;  // a number below 2^32 - 1, as the compiler cannot know
    if (options_.sums) {
      const uint32_t scope = editor_.constant_u32(word(spv::Scope::Subgroup));
      const uint32_t sum =
          code.emit(Op::OpGroupNonUniformIAdd, u32_,
                    {scope, word(spv::GroupOperation::Reduce), editor_.constant_u32(1)});
      const uint32_t elected = code.emit(Op::OpGroupNonUniformElect, boolean_, {scope});
      adds = adds == 0 ? elected : code.emit(Op::OpLogicalAnd, boolean_, {adds, elected});
      value = code.emit(Op::OpUConvert, u64_, {sum});
    }
    uint32_t old = 0;
    const auto add = [&] {
      if (distance != 0) {
        const uint32_t wide = code.emit(Op::OpUConvert, u64_, {distance});
        address = code.emit(Op::OpIAdd, u64_, {address, wide});
      }
      old = code.emit(Op::OpAtomicIAdd, u64_,
                      {pointer(code, u64_, address), editor_.constant_u32(word(spv::Scope::Device)),
                       editor_.constant_u32(0), value});
    };
    if (adds == 0) {
      add();
    } else {
      code.if_then(adds, add);
    }
    if (!is(spv::ExecutionModel::Fragment)) return;
    if (never == 0) {
      never = options_.sums ? code.emit(Op::OpUConvert, u32_, {value})
                            : code.emit(Op::OpUConvert, u32_, {old});
    }
    discard_if(code, code.emit(Op::OpIEqual, boolean_, {never, editor_.constant_u32(~0u)}));
  }

 private:
  bool is(spv::ExecutionModel model) const { return entry_.model == model; }

  uint32_t new_variable(spv::StorageClass storage, spv::Decoration decoration, uint32_t operand) {
    const uint32_t variable =
        editor_.new_global_variable(editor_.type_pointer(storage, u32_), storage);
    editor_.decorate(variable, decoration, {operand});
    editor_.add_to_interface(entry_, variable);
    return variable;
  }

  uint32_t pointer(InstructionBuilder& code, uint32_t type, uint32_t address) {
    const uint32_t result = editor_.type_pointer(spv::StorageClass::PhysicalStorageBuffer, type);
    return code.emit(Op::OpConvertUToPtr, result, {address});
  }

  // A member of the counter.
  uint32_t load(InstructionBuilder& code, uint32_t type, size_t offset) {
    const uint32_t at = pointer(code, type, editor_.constant_u64(options_.counter + offset));
    return code.load(type, at, {word(spv::MemoryAccessMask::Aligned), 8});
  }

  uint32_t distance_of_draw(InstructionBuilder& code) {
    if (is(spv::ExecutionModel::Fragment)) return code.load(u32_, passed_on_);
    if (!is(spv::ExecutionModel::Vertex)) return editor_.constant_u32(0);
    const auto variable = editor_.module().definition(instance_index_);
    uint32_t type = u32_;
    if (variable) type = editor_.module().definition(variable->type_id())->operand(1);
    uint32_t index = code.load(type, instance_index_);
    if (type != u32_) index = code.emit(Op::OpBitcast, u32_, {index});
    const uint32_t draw =
        code.emit(Op::OpShiftRightLogical, u32_, {index, editor_.constant_u32(16)});
    const uint32_t distance =
        code.emit(Op::OpIMul, u32_, {draw, load(code, u32_, offsetof(Counter, stride))});
    code.store(passed_on_, distance);
    return distance;
  }

  void discard_if(InstructionBuilder& code, uint32_t condition) {
    const uint32_t inside = code.new_id(), after = code.new_id();
    code.selection_merge(after);
    code.branch_if(condition, inside, after);
    code.label(inside);
    code.emit(Op::OpKill);
    code.label(after);
  }

  Editor& editor_;
  const spirv::EntryPoint& entry_;
  const CountInvocations& options_;
  uint32_t boolean_, u32_, u64_;
  uint32_t passed_on_ = 0, instance_index_ = 0;  // variables
};

}  // namespace

std::optional<std::vector<uint32_t>> count_invocations(std::span<const uint32_t> words,
                                                       const CountInvocations& options) {
  const auto module = spirv::Module::parse(words);
  if (!module || module->entry_points().size() != 1) return std::nullopt;
  const spirv::EntryPoint& entry = module->entry_points()[0];
  const bool is_fragment = entry.model == spv::ExecutionModel::Fragment;
  Editor editor(*module);
  editor.raise_version(spirv::make_version(1, 3));
  editor.set_memory_model(spv::AddressingModel::PhysicalStorageBuffer64, spv::MemoryModel::GLSL450);
  editor.add_capability(spv::Capability::PhysicalStorageBufferAddresses);
  editor.add_capability(spv::Capability::Int64);
  editor.add_capability(spv::Capability::Int64Atomics);
  editor.add_extension("SPV_KHR_physical_storage_buffer", spirv::make_version(1, 5));
  if (options.sums) {
    editor.add_capability(spv::Capability::GroupNonUniform);
    editor.add_capability(spv::Capability::GroupNonUniformArithmetic);
  }
  if (is_fragment && spirv::may_test_early(*module, entry)) {
    editor.add_execution_mode(entry.function_id, spv::ExecutionMode::EarlyFragmentTests);
  }
  Counting counting(editor, entry, options);
  bool inside = false;
  for (uint32_t i = 0; i < module->instruction_count(); ++i) {
    const spirv::Instruction instruction = module->instruction(i);
    if (instruction.opcode() == Op::OpFunction) {
      inside = i == module->definition_index(entry.function_id);
    }
    if (!inside || instruction.opcode() != Op::OpReturn) continue;
    InstructionBuilder code = editor.new_code();
    counting.emit(code);
    editor.insert_before(i, code);
  }
  auto counted = editor.write();
  if (!counted) return std::nullopt;
  return std::move(*counted);
}

}  // namespace tally::bench
