#include "spirv/instrument/late_demotions.h"

#include <algorithm>

#include "spirv/analysis/side_effects.h"
#include "spirv/instrument/builtins.h"

namespace tally::spirv {
namespace {

using spv::Op;
using spv::StorageClass;

// In longer shaders, the instructions that demoted invocations execute in vain may take longer than
// writing twice.
constexpr uint32_t kMaxInstructions = 100;

bool is_subgroup_operation(Op opcode) {
  return opcode >= Op::OpGroupNonUniformElect && opcode <= Op::OpGroupNonUniformQuadSwap;
}

bool allows(const Module& module, const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Op::OpIsHelperInvocationEXT:
    case Op::OpLoopMerge:
    case Op::OpUnreachable:  // a compiler may drop what leads there
      return false;
    case Op::OpExtInst:  // not debugPrintfEXT
      return module.ext_inst_set(instruction.operand(0)) != ExtInstSet::NonSemantic;
    default:
      return !is_subgroup_operation(instruction.opcode()) && !has_side_effect(module, instruction);
  }
}

bool has_builtin(const Module& module, const EntryPoint& entry, StorageClass storage,
                 spv::BuiltIn builtin) {
  return find_builtin(module, entry, storage, builtin).has_value();
}

}  // namespace

bool LateDemotions::are_possible(const AnalyzedModule& analyzed, const EntryPoint& entry,
                                 const SegmentGraph& graph, const BlockCountOptions& options) {
  if (options.counting != Counting::Private || options.count_subgroups || options.regions) {
    return false;
  }
  const Module& module = analyzed.module();
  const auto returns = [&](const Exit& exit) { return is_return(module, exit); };
  if (std::ranges::none_of(graph.exits, is_demotion) ||
      std::ranges::none_of(graph.exits, returns)) {
    return false;
  }
  // Helper invocations may leave out loads. Pointers of the others have to be valid.
  if (module.has_capability(spv::Capability::PhysicalStorageBufferAddresses)) return false;
  if (has_builtin(module, entry, StorageClass::Input, spv::BuiltIn::HelperInvocation) ||
      has_builtin(module, entry, StorageClass::Output, spv::BuiltIn::SampleMask)) {
    return false;
  }
  uint32_t instructions = 0;
  for (const uint32_t f : module.reachable_functions(entry.function_id)) {
    const Function& function = module.functions()[f];
    instructions += function.end - function.begin;
    if (instructions > kMaxInstructions) return false;
    for (uint32_t i = function.begin; i < function.end; ++i) {
      if (!allows(module, module.instruction(i))) return false;
    }
  }
  return true;
}

LateDemotions::LateDemotions(PassContext& context) : editor_(context.editor) {
  const uint32_t boolean = editor_.type_bool();
  demoted_ = editor_.new_global_variable(editor_.type_pointer(StorageClass::Private, boolean),
                                         StorageClass::Private, editor_.constant_bool(false));
  editor_.name(demoted_, "tally.demoted");
  editor_.add_to_interface(context.entry, demoted_);
}

void LateDemotions::note(InstructionBuilder& code) const {
  code.store(demoted_, editor_.constant_bool(true));
}

uint32_t LateDemotions::is_demoted(InstructionBuilder& code) const {
  return code.load(editor_.type_bool(), demoted_);
}

uint32_t LateDemotions::unless_demoted(InstructionBuilder& code, uint32_t value) const {
  return code.emit(Op::OpSelect, editor_.type_int(32),
                   {is_demoted(code), editor_.constant_u32(0), value});
}

}  // namespace tally::spirv
