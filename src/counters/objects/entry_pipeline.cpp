// Shader modules, pipeline layouts and pipelines.
#include "counters/layer/entry_points.h"
#include "counters/objects/pipeline_creation.h"
#include "counters/objects/pipeline_flags.h"
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

// The create info of a pipeline in the chain of another struct, without the layer's flag.
class PlainPipelineInfo {
 public:
  explicit PlainPipelineInfo(const VkPipelineCreateInfoKHR& info) : info_(info) {
    remove_flag(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, compute_);
    remove_flag(VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, graphics_);
    remove_flag(VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR, rays_);
  }
  PlainPipelineInfo(const PlainPipelineInfo&) = delete;
  PlainPipelineInfo& operator=(const PlainPipelineInfo&) = delete;
  const VkPipelineCreateInfoKHR* get() const { return &info_; }

 private:
  template <typename Info>
  void remove_flag(VkStructureType type, Info& copy) {
    const auto* info = static_cast<const Info*>(info_.pNext);
    if (!info || info->sType != type || !wants_instrumentation(*info)) return;
    copy = *info;
    chain_ = vk::ChainCopy(info->pNext);
    set_pipeline_flags(copy, chain_,
                       pipeline_flags(*info) & ~VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM);
    info_.pNext = &copy;
  }

  VkPipelineCreateInfoKHR info_;
  VkComputePipelineCreateInfo compute_;
  VkGraphicsPipelineCreateInfo graphics_;
  VkRayTracingPipelineCreateInfoKHR rays_;
  vk::ChainCopy chain_;
};

VKAPI_ATTR VkResult VKAPI_CALL hook_get_key(VkDevice handle, const VkPipelineCreateInfoKHR* info,
                                            VkPipelineBinaryKeyKHR* key) {
  return vk::guarded([&] {
    const auto get = find_device(handle)->next().GetPipelineKeyKHR;
    return info ? get(handle, PlainPipelineInfo(*info).get(), key) : get(handle, nullptr, key);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_binaries(VkDevice handle,
                                                    const VkPipelineBinaryCreateInfoKHR* info,
                                                    const VkAllocationCallbacks* allocator,
                                                    VkPipelineBinaryHandlesInfoKHR* binaries) {
  return vk::guarded([&] {
    const auto create = find_device(handle)->next().CreatePipelineBinariesKHR;
    if (!info->pPipelineCreateInfo) return create(handle, info, allocator, binaries);
    const PlainPipelineInfo plain(*info->pPipelineCreateInfo);
    VkPipelineBinaryCreateInfoKHR changed = *info;
    changed.pPipelineCreateInfo = plain.get();
    return create(handle, &changed, allocator, binaries);
  });
}

}  // namespace

void add_pipeline_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kInstrumentation));
  };
  add("vkCreateComputePipelines", hook_create_compute);
  add("vkCreateGraphicsPipelines", hook_create_graphics);
  add("vkCreatePipelineBinariesKHR", hook_create_binaries);
  add("vkCreatePipelineLayout", hook_create_layout);
  add("vkCreateRayTracingPipelinesKHR", hook_create_rays);
  add("vkCreateShaderModule", hook_create_module);
  add("vkDestroyPipeline", hook_destroy_pipeline);
  add("vkDestroyPipelineLayout", hook_destroy_layout);
  add("vkDestroyShaderModule", hook_destroy_module);
  add("vkGetPipelineKeyKHR", hook_get_key);
}

}  // namespace tally::counters
