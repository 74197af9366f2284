#include "hand_layer/count_invocations.h"

#include <utility>

#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/early_tests.h"
#include "spirv/instrument/push_constant.h"
#include "spirv/ir/editor.h"

namespace tally::bench {
namespace {

using spirv::Editor;
using spirv::InstructionBuilder;
using spv::Op;

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
    const auto added = spirv::add_push_constant(editor, entry, u64_, kPushOffset);
    if (added) pushed_ = *added;
  }

  // lavapipe offers subgroup operations to these stages alone.
  bool sums_up() const {
    return options_.sums &&
           (is(spv::ExecutionModel::Fragment) || is(spv::ExecutionModel::GLCompute));
  }
  bool is_possible() const { return !options_.as_layer || pushed_.variable != 0; }

  void emit(InstructionBuilder& code) {
    uint32_t address = editor_.constant_u64(options_.counter);
    uint32_t adds = 0;   // whether the lane adds; 0: it does
    uint32_t never = 0;  // a number below 2^32 - 1, as the compiler cannot know
    if (options_.as_layer) {
      const uint32_t pushed = load_pushed(code);
      adds = code.emit(Op::OpINotEqual, boolean_, {pushed, editor_.constant_u64(0)});
      address = code.emit(Op::OpIAdd, u64_, {pushed, address});
      never = code.emit(Op::OpUConvert, u32_, {pushed});
    }
    uint32_t value = editor_.constant_u64(1);
    const bool sums = sums_up();
    if (sums) {
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
    if (never == 0) never = code.emit(Op::OpUConvert, u32_, {sums ? value : old});
    discard_if(code, code.emit(Op::OpIEqual, boolean_, {never, editor_.constant_u32(~0u)}));
  }

 private:
  bool is(spv::ExecutionModel model) const { return entry_.model == model; }

  uint32_t pointer(InstructionBuilder& code, uint32_t type, uint32_t address) {
    const uint32_t result = editor_.type_pointer(spv::StorageClass::PhysicalStorageBuffer, type);
    return code.emit(Op::OpConvertUToPtr, result, {address});
  }

  uint32_t load_pushed(InstructionBuilder& code) {
    const uint32_t type = editor_.type_pointer(spv::StorageClass::PushConstant, u64_);
    return code.load(
        u64_, code.access_chain(type, pushed_.variable, {editor_.constant_u32(pushed_.member)}));
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
  spirv::PushConstantMember pushed_{};  // variable 0: none
};

}  // namespace

std::optional<std::vector<uint32_t>> count_invocations(std::span<const uint32_t> words,
                                                       const CountInvocations& options) {
  auto parsed = spirv::Module::parse(words);
  if (!parsed || parsed->entry_points().size() != 1) return std::nullopt;
  const spirv::AnalyzedModule analyzed(std::move(*parsed));
  const spirv::Module& module = analyzed.module();
  const spirv::EntryPoint& entry = module.entry_points()[0];
  const bool is_fragment = entry.model == spv::ExecutionModel::Fragment;
  Editor editor(module);
  editor.raise_version(spirv::make_version(1, 3));
  editor.set_memory_model(spv::MemoryModel::GLSL450);
  editor.add_capability(spv::Capability::PhysicalStorageBufferAddresses);
  editor.add_capability(spv::Capability::Int64);
  editor.add_capability(spv::Capability::Int64Atomics);
  editor.add_extension("SPV_KHR_physical_storage_buffer", spirv::make_version(1, 5));
  if (is_fragment && spirv::may_test_early(analyzed, entry)) {
    editor.add_execution_mode(entry.function_id, spv::ExecutionMode::EarlyFragmentTests);
  }
  Counting counting(editor, entry, options);
  if (!counting.is_possible()) return std::nullopt;
  if (counting.sums_up()) {
    editor.add_capability(spv::Capability::GroupNonUniform);
    editor.add_capability(spv::Capability::GroupNonUniformArithmetic);
  }
  bool inside = false;
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const spirv::Instruction instruction = module.instruction(i);
    if (instruction.opcode() == Op::OpFunction) {
      inside = i == module.definition_index(entry.function_id);
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
