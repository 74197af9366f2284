#include "spirv/analysis/workgroup_size.h"

namespace tally::spirv {
namespace {

// The constant that is the workgroup's size, whatever the execution mode says.
std::optional<uint32_t> size_constant(const Module& module) {
  for (const uint32_t i : module.decorations()) {
    const Instruction decoration = module.instruction(i);
    if (decoration.opcode() == spv::Op::OpDecorate && decoration.operand_count() > 2 &&
        static_cast<spv::Decoration>(decoration.operand(1)) == spv::Decoration::BuiltIn &&
        static_cast<spv::BuiltIn>(decoration.operand(2)) == spv::BuiltIn::WorkgroupSize) {
      return decoration.operand(0);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<WorkgroupSize> workgroup_size(const Module& module, const EntryPoint& entry) {
  if (const auto constant = size_constant(module)) {
    const auto composite = module.definition(*constant);
    if (!composite || composite->opcode() != spv::Op::OpConstantComposite ||
        composite->operand_count() != 3) {
      return std::nullopt;
    }
    WorkgroupSize size{};
    for (uint32_t i = 0; i < 3; ++i) {
      const auto value = module.constant_value(composite->operand(i));
      if (!value || module.is_specialization_constant(composite->operand(i))) return std::nullopt;
      size[i] = static_cast<uint32_t>(*value);
    }
    return size;
  }
  for (const uint32_t i : module.execution_modes(entry)) {
    const Instruction mode = module.instruction(i);
    if (static_cast<spv::ExecutionMode>(mode.operand(1)) == spv::ExecutionMode::LocalSize &&
        mode.operand_count() == 5) {
      return WorkgroupSize{mode.operand(2), mode.operand(3), mode.operand(4)};
    }
  }
  return std::nullopt;
}

}  // namespace tally::spirv
