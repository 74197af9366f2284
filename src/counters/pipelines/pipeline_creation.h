// Creation of pipelines, as the application asked for them. Where their variants have to be made
// with them, vkCreate*Pipelines returns VK_PIPELINE_COMPILE_REQUIRED if the application forbids
// compilation and they need it. Any other failure of a variant costs the counts, not the pipeline.
#pragma once

#include <vulkan/vulkan_core.h>

#include <span>

namespace tally::counters {

struct ObjectState;

VkResult create_graphics_pipelines(ObjectState& state, VkPipelineCache cache,
                                   std::span<const VkGraphicsPipelineCreateInfo> infos,
                                   const VkAllocationCallbacks* allocator, VkPipeline* pipelines);

VkResult create_compute_pipelines(ObjectState& state, VkPipelineCache cache,
                                  std::span<const VkComputePipelineCreateInfo> infos,
                                  const VkAllocationCallbacks* allocator, VkPipeline* pipelines);

void destroy_pipeline(ObjectState& state, VkPipeline pipeline,
                      const VkAllocationCallbacks* allocator);

}  // namespace tally::counters
