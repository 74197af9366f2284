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

std::optional<uint32_t> workgroup_width(const Module& module, const EntryPoint& entry) {
  if (const auto constant = size_constant(module)) {
    const auto size = module.definition(*constant);
    const bool is_known = size && size->opcode() == spv::Op::OpConstantComposite;
    if (!is_known || size->operand_count() == 0) return std::nullopt;
    const auto width = module.constant_value(size->operand(0));
    return width ? std::optional(static_cast<uint32_t>(*width)) : std::nullopt;
  }
  for (const uint32_t i : module.execution_modes(entry)) {
    const Instruction mode = module.instruction(i);
    if (static_cast<spv::ExecutionMode>(mode.operand(1)) == spv::ExecutionMode::LocalSize &&
        mode.operand_count() > 2) {
      return mode.operand(2);
    }
  }
  return std::nullopt;
}

}  // namespace tally::spirv
