// One shader stage of a pipeline in the making.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <vector>

#include "counters/shader/shader_code.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/instrument/options.h"

namespace tally::counters {

// Not thread-safe.
class Stage {
 public:
  // `stage_code` is null if the code is not known (an identifier, a binary).
  Stage(const VkPipelineShaderStageCreateInfo* stage_info,
        std::shared_ptr<const ShaderCode> stage_code)
      : info(stage_info), code(std::move(stage_code)) {}

  const VkPipelineShaderStageCreateInfo* info;
  std::shared_ptr<const ShaderCode> code;

  // Parsed on first use and then kept.
  const Result<spirv::AnalyzedModule>& module() const;
  // Null if there is no entry point of the stage's name and this execution model.
  const spirv::EntryPoint* entry_point(spv::ExecutionModel model) const;

 private:
  mutable std::optional<Result<spirv::AnalyzedModule>> module_;
};

// True if the shader has an output gl_PrimitiveID. Ignores members of blocks.
bool sets_primitive_id(const Stage& stage);

// The execution modes of both tessellation stages; empty if an entry point is missing.
std::optional<spirv::Tessellation> find_tessellation(const Stage& control, const Stage& evaluation);

// True if fragment shaders may read gl_PrimitiveID: if a geometry or mesh shader sets it, or if
// there is neither. For a fragment shader alone, this is not known.
bool has_primitive_ids(const std::vector<Stage>& stages);

// Nothing without tessellation, or where a geometry shader replaces the primitives.
std::optional<spirv::Tessellation> tessellation_of(const std::vector<Stage>& stages);

// The first Location after all outputs of a vertex shader or all inputs of a fragment shader.
std::optional<uint32_t> first_free_location(const Stage& stage);

}  // namespace tally::counters
