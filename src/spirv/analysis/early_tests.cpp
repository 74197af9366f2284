#include "spirv/analysis/early_tests.h"

#include <algorithm>
#include <optional>

#include "spirv/analysis/side_effects.h"

namespace tally::spirv {
namespace {

using spv::BuiltIn;
using spv::ExecutionMode;
using spv::Op;
using spv::StorageClass;

// Execution modes that determine when the tests are done, or that order fragments.
bool settles_tests(ExecutionMode mode) {
  switch (mode) {
    case ExecutionMode::EarlyFragmentTests:
    case ExecutionMode::EarlyAndLateFragmentTestsAMD:
    case ExecutionMode::PostDepthCoverage:
    case ExecutionMode::DepthReplacing:
    case ExecutionMode::StencilRefReplacingEXT:
    case ExecutionMode::PixelInterlockOrderedEXT:
    case ExecutionMode::PixelInterlockUnorderedEXT:
    case ExecutionMode::SampleInterlockOrderedEXT:
    case ExecutionMode::SampleInterlockUnorderedEXT:
    case ExecutionMode::ShadingRateInterlockOrderedEXT:
    case ExecutionMode::ShadingRateInterlockUnorderedEXT:
      return true;
    default:
      return false;
  }
}

template <typename Condition>
bool any_mode(const Module& module, const EntryPoint& entry, Condition condition) {
  return std::ranges::any_of(module.execution_modes(entry), [&](uint32_t mode) {
    return condition(static_cast<ExecutionMode>(module.instruction(mode).operand(1)));
  });
}

bool is_read_by_tests(std::optional<uint32_t> builtin) {
  if (!builtin) return false;
  switch (static_cast<BuiltIn>(*builtin)) {
    case BuiltIn::FragDepth:
    case BuiltIn::SampleMask:
    case BuiltIn::FragStencilRefEXT:
      return true;
    default:
      return false;
  }
}

bool outputs_are_read_by_tests(const Module& module, const EntryPoint& entry) {
  for (const uint32_t id : entry.interface) {
    const auto variable = module.definition(id);
    if (!variable || variable->operand(0) != static_cast<uint32_t>(StorageClass::Output)) continue;
    if (is_read_by_tests(module.decoration(id, spv::Decoration::BuiltIn))) return true;
    const auto pointer = module.definition(variable->type_id());
    const auto type = pointer ? module.definition(pointer->operand(1)) : std::nullopt;
    if (!type || type->opcode() != Op::OpTypeStruct) continue;
    for (uint32_t member = 0; member < type->operand_count(); ++member) {
      if (is_read_by_tests(
              module.member_decoration(type->result_id(), member, spv::Decoration::BuiltIn))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

bool may_test_early(const Module& module, const EntryPoint& entry) {
  if (entry.model != spv::ExecutionModel::Fragment) return false;
  if (any_mode(module, entry, settles_tests) || outputs_are_read_by_tests(module, entry))
    return false;
  for (const uint32_t f : module.reachable_functions(entry.function_id)) {
    const Function& function = module.functions()[f];
    for (uint32_t i = function.begin; i < function.end; ++i) {
      const Instruction instruction = module.instruction(i);
      if (ends_invocation(instruction.opcode()) || has_side_effect(module, instruction)) {
        return false;
      }
    }
  }
  return true;
}

bool declares_early_tests(const Module& module, const EntryPoint& entry) {
  const auto declares = [&](ExecutionMode wanted) {
    return any_mode(module, entry, [&](ExecutionMode mode) { return mode == wanted; });
  };
  return declares(ExecutionMode::EarlyFragmentTests) &&
         !declares(ExecutionMode::EarlyAndLateFragmentTestsAMD);
}

}  // namespace tally::spirv
