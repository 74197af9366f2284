// Shader modules, pipeline layouts and pipelines.
#include "counters/layer/entry_points.h"
#include "counters/objects/pipeline_creation.h"
#include "counters/objects/ray_pipeline_creation.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

VkResult create_module(VkDevice handle, const VkShaderModuleCreateInfo* info,
                       const VkAllocationCallbacks* allocator, VkShaderModule* module) {
  Device& device = *find_device(handle);
  DeviceState* state = device.state();
  if (!state) return device.next().CreateShaderModule(handle, info, allocator, module);
  // Store the code first: after the driver's call nothing may fail.
  auto code = state->objects.codes.add({info->pCode, info->codeSize / sizeof(uint32_t)});
  const VkResult result = device.next().CreateShaderModule(handle, info, allocator, module);
  if (result == VK_SUCCESS) state->objects.shader_modules.insert(*module, std::move(code));
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_module(VkDevice device,
                                                  const VkShaderModuleCreateInfo* info,
                                                  const VkAllocationCallbacks* allocator,
                                                  VkShaderModule* module) {
  return vk::guarded([&] { return create_module(device, info, allocator, module); });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_module(VkDevice handle, VkShaderModule module,
                                               const VkAllocationCallbacks* allocator) {
  Device& device = *find_device(handle);
  if (DeviceState* state = device.state()) state->objects.shader_modules.take(module);
  device.next().DestroyShaderModule(handle, module, allocator);
}

VkResult create_layout(VkDevice handle, const VkPipelineLayoutCreateInfo* info,
                       const VkAllocationCallbacks* allocator, VkPipelineLayout* layout) {
  Device& device = *find_device(handle);
  DeviceState* state = device.state();
  if (!state) return device.next().CreatePipelineLayout(handle, info, allocator, layout);
  auto known = std::make_shared<PipelineLayout>(*info, state->objects.layout_rules);
  const VkResult result =
      known->create(handle, device.next(), state->memory.words, *info, allocator, layout);
  if (result != VK_SUCCESS) return result;
  if (known->widens() || known->covers_reserved())
    state->objects.inspects_constants.store(true, std::memory_order_relaxed);
  state->objects.layouts.insert(*layout, std::move(known));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_layout(VkDevice device,
                                                  const VkPipelineLayoutCreateInfo* info,
                                                  const VkAllocationCallbacks* allocator,
                                                  VkPipelineLayout* layout) {
  return vk::guarded([&] { return create_layout(device, info, allocator, layout); });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_layout(VkDevice handle, VkPipelineLayout layout,
                                               const VkAllocationCallbacks* allocator) {
  Device& device = *find_device(handle);
  if (DeviceState* state = device.state()) state->objects.layouts.take(layout);
  device.next().DestroyPipelineLayout(handle, layout, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_graphics(VkDevice handle, VkPipelineCache cache,
                                                    uint32_t count,
                                                    const VkGraphicsPipelineCreateInfo* infos,
                                                    const VkAllocationCallbacks* allocator,
                                                    VkPipeline* pipelines) {
  Device& device = *find_device(handle);
  if (!device.state()) {
    return device.next().CreateGraphicsPipelines(handle, cache, count, infos, allocator, pipelines);
  }
  return vk::guarded([&] {
    return create_graphics_pipelines(device.state()->objects, cache, {infos, count}, allocator,
                                     pipelines);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_compute(VkDevice handle, VkPipelineCache cache,
                                                   uint32_t count,
                                                   const VkComputePipelineCreateInfo* infos,
                                                   const VkAllocationCallbacks* allocator,
                                                   VkPipeline* pipelines) {
  Device& device = *find_device(handle);
  if (!device.state()) {
    return device.next().CreateComputePipelines(handle, cache, count, infos, allocator, pipelines);
  }
  return vk::guarded([&] {
    return create_compute_pipelines(device.state()->objects, cache, {infos, count}, allocator,
                                    pipelines);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_rays(VkDevice handle, VkDeferredOperationKHR operation,
                                                VkPipelineCache cache, uint32_t count,
                                                const VkRayTracingPipelineCreateInfoKHR* infos,
                                                const VkAllocationCallbacks* allocator,
                                                VkPipeline* pipelines) {
  Device& device = *find_device(handle);
  if (!device.state()) {
    return device.next().CreateRayTracingPipelinesKHR(handle, operation, cache, count, infos,
                                                      allocator, pipelines);
  }
  return vk::guarded([&] {
    return create_ray_tracing_pipelines(device.state()->objects, operation, cache, {infos, count},
                                        allocator, pipelines);
  });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_pipeline(VkDevice handle, VkPipeline pipeline,
                                                 const VkAllocationCallbacks* allocator) {
  Device& device = *find_device(handle);
  if (device.state()) {
    destroy_pipeline(device.state()->objects, pipeline, allocator);
  } else {
    device.next().DestroyPipeline(handle, pipeline, allocator);
  }
}

}  // namespace

void add_pipeline_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kInstrumentation));
  };
  add("vkCreateComputePipelines", hook_create_compute);
  add("vkCreateGraphicsPipelines", hook_create_graphics);
  add("vkCreatePipelineLayout", hook_create_layout);
  add("vkCreateRayTracingPipelinesKHR", hook_create_rays);
  add("vkCreateShaderModule", hook_create_module);
  add("vkDestroyPipeline", hook_destroy_pipeline);
  add("vkDestroyPipelineLayout", hook_destroy_layout);
  add("vkDestroyShaderModule", hook_destroy_module);
}

}  // namespace tally::counters
