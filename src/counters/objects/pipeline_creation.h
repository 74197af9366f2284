// Creation of pipelines: the application's, exactly as it asked for them, and beside each that
// carries the instrumentation flag the counting twin. An application that allows no compilation
// gets VK_PIPELINE_COMPILE_REQUIRED where either needs one. Any other trouble with a twin costs the
// counts, not the pipeline.
#pragma once

#include <vulkan/vulkan_core.h>

#include <span>

namespace tally::counters {

class Device;

VkResult create_graphics_pipelines(Device& device, VkPipelineCache cache,
                                   std::span<const VkGraphicsPipelineCreateInfo> infos,
                                   const VkAllocationCallbacks* allocator, VkPipeline* pipelines);

VkResult create_compute_pipelines(Device& device, VkPipelineCache cache,
                                  std::span<const VkComputePipelineCreateInfo> infos,
                                  const VkAllocationCallbacks* allocator, VkPipeline* pipelines);

// Not instrumented: the flag is taken out and the developer told.
VkResult create_ray_tracing_pipelines(Device& device, VkDeferredOperationKHR operation,
                                      VkPipelineCache cache,
                                      std::span<const VkRayTracingPipelineCreateInfoKHR> infos,
                                      const VkAllocationCallbacks* allocator,
                                      VkPipeline* pipelines);

void destroy_pipeline(Device& device, VkPipeline pipeline, const VkAllocationCallbacks* allocator);

}  // namespace tally::counters
