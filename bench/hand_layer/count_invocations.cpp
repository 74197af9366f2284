#include "hand_layer/count_invocations.h"

#include "spirv/analysis/early_tests.h"
#include "spirv/ir/editor.h"

namespace tally::bench {
namespace {

using spirv::Editor;
using spirv::InstructionBuilder;
using spv::Op;

constexpr uint32_t word(auto value) { return static_cast<uint32_t>(value); }

class Counting {
 public:
  Counting(Editor& editor, const CountInvocations& options)
      : editor_(editor), options_(options), u32_(editor.type_int(32)) {
    pointer_type_ = editor.type_pointer(spv::StorageClass::PhysicalStorageBuffer, u32_);
    const uint32_t low = editor.constant_u32(static_cast<uint32_t>(options.counter));
    const uint32_t high = editor.constant_u32(static_cast<uint32_t>(options.counter >> 32));
    address_ = editor.constant_composite(editor.type_vector(u32_, 2), {low, high});
  }

  void emit(InstructionBuilder& code, bool discards) {
    uint32_t opaque = 0;  // never ~0u, which the compiler cannot know
    if (options_.sums) {
      const uint32_t scope = editor_.constant_u32(word(spv::Scope::Subgroup));
      opaque = code.emit(Op::OpGroupNonUniformIAdd, u32_,
                         {scope, word(spv::GroupOperation::Reduce), editor_.constant_u32(1)});
      const uint32_t elected = code.emit(Op::OpGroupNonUniformElect, editor_.type_bool(), {scope});
      code.if_then(elected, [&] { add(code, opaque); });
    } else {
      opaque = add(code, editor_.constant_u32(1));
    }
    if (!discards) return;
    const uint32_t never =
        code.emit(Op::OpIEqual, editor_.type_bool(), {opaque, editor_.constant_u32(~0u)});
    const uint32_t inside = code.new_id(), after = code.new_id();
    code.selection_merge(after);
    code.branch_if(never, inside, after);
    code.label(inside);
    code.emit(Op::OpKill);
    code.label(after);
  }

 private:
  uint32_t add(InstructionBuilder& code, uint32_t value) {
    const uint32_t pointer = code.emit(Op::OpBitcast, pointer_type_, {address_});
    return code.emit(
        Op::OpAtomicIAdd, u32_,
        {pointer, editor_.constant_u32(word(spv::Scope::Device)), editor_.constant_u32(0), value});
  }

  Editor& editor_;
  const CountInvocations& options_;
  uint32_t u32_, pointer_type_ = 0, address_ = 0;
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
  editor.add_extension("SPV_KHR_physical_storage_buffer", spirv::make_version(1, 5));
  if (options.sums) {
    editor.add_capability(spv::Capability::GroupNonUniform);
    editor.add_capability(spv::Capability::GroupNonUniformArithmetic);
  }
  if (is_fragment && spirv::may_test_early(*module, entry)) {
    editor.add_execution_mode(entry.function_id, spv::ExecutionMode::EarlyFragmentTests);
  }
  Counting counting(editor, options);
  bool inside = false;
  for (uint32_t i = 0; i < module->instruction_count(); ++i) {
    const spirv::Instruction instruction = module->instruction(i);
    if (instruction.opcode() == Op::OpFunction) {
      inside = i == module->definition_index(entry.function_id);
    }
    if (!inside || instruction.opcode() != Op::OpReturn) continue;
    InstructionBuilder code = editor.new_code();
    counting.emit(code, is_fragment);
    editor.insert_before(i, code);
  }
  auto counted = editor.write();
  if (!counted) return std::nullopt;
  return std::move(*counted);
}

}  // namespace tally::bench
