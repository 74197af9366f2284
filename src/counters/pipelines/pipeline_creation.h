// Creation of pipelines and shader objects, as the application asked for them. Where their variants
// have to be made with them, vkCreate*Pipelines returns VK_PIPELINE_COMPILE_REQUIRED if the
// application forbids compilation and they need it. Any other failure of a variant costs the
// counts, not the pipeline.
#pragma once

#include <tally/vulkan_newer.h>
#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <span>

namespace tally::counters {

struct ObjectState;
class WordPool;

VkResult create_graphics_pipelines(ObjectState& state, VkPipelineCache cache,
                                   std::span<const VkGraphicsPipelineCreateInfo> infos,
                                   const VkAllocationCallbacks* allocator, VkPipeline* pipelines);

VkResult create_compute_pipelines(ObjectState& state, VkPipelineCache cache,
                                  std::span<const VkComputePipelineCreateInfo> infos,
                                  const VkAllocationCallbacks* allocator, VkPipeline* pipelines);

// The shaders of a ray-tracing pipeline with the flag always count: there is no other variant,
// because the application's shader binding tables hold the handles of its groups. A null record
// pointer makes its shaders count nothing. Does not defer the creation of pipelines that the layer
// has to know. If the driver rejects the instrumented stages, creates the pipelines with the
// application's own.
VkResult create_ray_tracing_pipelines(ObjectState& state, VkDeferredOperationKHR operation,
                                      VkPipelineCache cache,
                                      std::span<const VkRayTracingPipelineCreateInfoKHR> infos,
                                      const VkAllocationCallbacks* allocator,
                                      VkPipeline* pipelines);

void destroy_pipeline(ObjectState& state, VkPipeline pipeline,
                      const VkAllocationCallbacks* allocator);

VkResult create_shader_objects(ObjectState& state, WordPool& words,
                               std::span<const VkShaderCreateInfoEXT> infos,
                               const VkAllocationCallbacks* allocator, VkShaderEXT* shaders);

void destroy_shader_object(ObjectState& state, VkShaderEXT shader,
                           const VkAllocationCallbacks* allocator);

// Remembers what a binary was made of that the application received.
void note_shader_binary(ObjectState& state, VkShaderEXT shader, std::span<const std::byte> binary);

}  // namespace tally::counters
