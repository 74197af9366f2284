// Creation of pipelines: the application's own, unchanged, and the counting variants of each that
// needs them. vkCreate*Pipelines returns VK_PIPELINE_COMPILE_REQUIRED where the application forbids
// compilation and the pipeline or a variant needs it. Any other failure of a variant costs the
// counts, not the pipeline.
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

// Ray-tracing pipelines run uninstrumented: removes the flag and reports it.
VkResult create_ray_tracing_pipelines(ObjectState& state, VkDeferredOperationKHR operation,
                                      VkPipelineCache cache,
                                      std::span<const VkRayTracingPipelineCreateInfoKHR> infos,
                                      const VkAllocationCallbacks* allocator,
                                      VkPipeline* pipelines);

void destroy_pipeline(ObjectState& state, VkPipeline pipeline,
                      const VkAllocationCallbacks* allocator);

}  // namespace tally::counters
