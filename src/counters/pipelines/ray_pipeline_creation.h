// Creation of ray-tracing pipelines. The shaders of a pipeline with
// VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM always count: there is no other variant,
// because the application's shader binding tables hold the handles of its groups. A null record
// pointer makes its shaders count nothing.
#pragma once

#include <vulkan/vulkan_core.h>

#include <span>

namespace tally::counters {

struct ObjectState;

// Does not defer the creation of pipelines that the layer has to know. If the driver rejects the
// instrumented stages, creates the pipelines with the application's own.
VkResult create_ray_tracing_pipelines(ObjectState& state, VkDeferredOperationKHR operation,
                                      VkPipelineCache cache,
                                      std::span<const VkRayTracingPipelineCreateInfoKHR> infos,
                                      const VkAllocationCallbacks* allocator,
                                      VkPipeline* pipelines);

}  // namespace tally::counters
