// Creation of pipelines: the application's own, unchanged, and the counting variants of each that
// needs them. vkCreate*Pipelines returns VK_PIPELINE_COMPILE_REQUIRED where the application forbids
// compilation and the pipeline or a variant needs it. Any other failure of a variant costs the
// counts, not the pipeline.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <span>

namespace tally::counters {

struct ObjectState;
struct ShaderCode;

// The id of messages about what runs uninstrumented.
inline constexpr const char* kUninstrumentedNotice = "TALLY-uninstrumented-shader";

VkResult create_graphics_pipelines(ObjectState& state, VkPipelineCache cache,
                                   std::span<const VkGraphicsPipelineCreateInfo> infos,
                                   const VkAllocationCallbacks* allocator, VkPipeline* pipelines);

VkResult create_compute_pipelines(ObjectState& state, VkPipelineCache cache,
                                  std::span<const VkComputePipelineCreateInfo> infos,
                                  const VkAllocationCallbacks* allocator, VkPipeline* pipelines);

// The SPIR-V of a stage, null if it is not known.
std::shared_ptr<const ShaderCode> find_code(ObjectState& state,
                                            const VkPipelineShaderStageCreateInfo& stage);

void destroy_pipeline(ObjectState& state, VkPipeline pipeline,
                      const VkAllocationCallbacks* allocator);

}  // namespace tally::counters
