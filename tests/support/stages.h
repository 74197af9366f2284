// Shader stages, and their execution models in SPIR-V.
#pragma once

#include <vulkan/vulkan_core.h>

#include <spirv/unified1/spirv.hpp11>

namespace tally::test {

inline constexpr VkShaderStageFlagBits kVertex = VK_SHADER_STAGE_VERTEX_BIT;
inline constexpr VkShaderStageFlagBits kControl = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
inline constexpr VkShaderStageFlagBits kEvaluation = VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
inline constexpr VkShaderStageFlagBits kGeometry = VK_SHADER_STAGE_GEOMETRY_BIT;
inline constexpr VkShaderStageFlagBits kFragment = VK_SHADER_STAGE_FRAGMENT_BIT;
inline constexpr VkShaderStageFlagBits kTask = VK_SHADER_STAGE_TASK_BIT_EXT;
inline constexpr VkShaderStageFlagBits kMesh = VK_SHADER_STAGE_MESH_BIT_EXT;
inline constexpr VkShaderStageFlagBits kCompute = VK_SHADER_STAGE_COMPUTE_BIT;

// Throws std::invalid_argument for stages that no test runs.
spv::ExecutionModel execution_model(VkShaderStageFlagBits stage);

}  // namespace tally::test
