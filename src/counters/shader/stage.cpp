#include "counters/shader/stage.h"

#include <algorithm>

#include "spirv/analysis/free_location.h"
#include "spirv/instrument/tessellation_counting.h"

namespace tally::counters {

const Result<spirv::AnalyzedModule>& Stage::module() const {
  if (!module_ && !code) module_ = Error{"its SPIR-V is not known"};
  if (!module_) module_ = spirv::AnalyzedModule::parse(code->words);
  return *module_;
}

const spirv::EntryPoint* Stage::entry_point(spv::ExecutionModel model) const {
  const auto& parsed = module();
  return parsed ? parsed->module().find_entry_point(model, info->pName) : nullptr;
}

bool sets_primitive_id(const Stage& stage) {
  if (!stage.module()) return false;
  const spirv::Module& module = stage.module()->module();
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const spirv::Instruction instruction = module.instruction(i);
    if (instruction.opcode() != spv::Op::OpVariable) continue;
    if (instruction.operand(0) != static_cast<uint32_t>(spv::StorageClass::Output)) continue;
    const auto builtin = module.decoration(instruction.result_id(), spv::Decoration::BuiltIn);
    if (builtin == static_cast<uint32_t>(spv::BuiltIn::PrimitiveId)) return true;
  }
  return false;
}

std::optional<spirv::Tessellation> find_tessellation(const Stage& control,
                                                     const Stage& evaluation) {
  spirv::Tessellation modes;
  const auto add = [&](const Stage& stage, spv::ExecutionModel model) {
    const spirv::EntryPoint* entry = stage.entry_point(model);
    if (entry) spirv::add_tessellation_modes(stage.module()->module(), *entry, modes);
    return entry != nullptr;
  };
  if (!add(control, spv::ExecutionModel::TessellationControl) ||
      !add(evaluation, spv::ExecutionModel::TessellationEvaluation)) {
    return std::nullopt;
  }
  return modes;
}

bool has_primitive_ids(const std::vector<Stage>& stages) {
  bool known = false;
  for (const Stage& stage : stages) {
    const VkShaderStageFlagBits bit = stage.info->stage;
    known = known || bit == VK_SHADER_STAGE_VERTEX_BIT;
    if (bit == VK_SHADER_STAGE_MESH_BIT_EXT) return false;
    if (bit == VK_SHADER_STAGE_GEOMETRY_BIT && !sets_primitive_id(stage)) return false;
  }
  return known;
}

std::optional<spirv::Tessellation> tessellation_of(const std::vector<Stage>& stages) {
  const Stage* control = nullptr;
  const Stage* evaluation = nullptr;
  for (const Stage& stage : stages) {
    const VkShaderStageFlagBits bit = stage.info->stage;
    if (bit == VK_SHADER_STAGE_GEOMETRY_BIT) return std::nullopt;
    if (bit == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) control = &stage;
    if (bit == VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT) evaluation = &stage;
  }
  if (!control || !evaluation) return std::nullopt;
  return find_tessellation(*control, *evaluation);
}

std::optional<uint32_t> first_free_location(const Stage& stage) {
  const bool vertex = stage.info->stage == VK_SHADER_STAGE_VERTEX_BIT;
  const spirv::EntryPoint* entry =
      stage.entry_point(vertex ? spv::ExecutionModel::Vertex : spv::ExecutionModel::Fragment);
  if (!entry) return std::nullopt;
  return spirv::first_free_location(stage.module()->module(), *entry,
                                    vertex ? spv::StorageClass::Output : spv::StorageClass::Input);
}

}  // namespace tally::counters
