// One shader stage of a pipeline in the making.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>

#include "counters/shader/shader_code.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/instrument/options.h"

namespace tally::counters {

// For one thread.
class Stage {
 public:
  // `stage_code` is null where the code is not known (an identifier, a binary).
  Stage(const VkPipelineShaderStageCreateInfo* stage_info,
        std::shared_ptr<const ShaderCode> stage_code)
      : info(stage_info), code(std::move(stage_code)) {}

  const VkPipelineShaderStageCreateInfo* info;
  std::shared_ptr<const ShaderCode> code;

  // Parsed when first asked for, and then kept for all who need it.
  const Result<spirv::AnalyzedModule>& module() const;
  // Null where there is none of that name and execution model.
  const spirv::EntryPoint* entry_point(spv::ExecutionModel model) const;

 private:
  mutable std::optional<Result<spirv::AnalyzedModule>> module_;
};

// Whether the shader has an output gl_PrimitiveID. Not of a block's members.
bool sets_primitive_id(const Stage& stage);

// What the execution modes of both tessellation stages say; nothing where either is not one.
std::optional<spirv::Tessellation> find_tessellation(const Stage& control, const Stage& evaluation);

// The first Location behind all that the vertex shader puts out and the fragment shader reads.
std::optional<uint32_t> find_free_location(const Stage& vertex, const Stage& fragment);

}  // namespace tally::counters
