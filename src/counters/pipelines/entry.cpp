// Shader modules, pipeline layouts and pipelines.

#include "counters/layer/entry_points.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/pipelines/pipeline_creation.h"
#include "counters/recording/command_buffer.h"
#include "vk/own_call.h"

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
  TALLY_TRY(known->create(handle, device.next(), state->memory.words, *info, allocator, layout));
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

void add_pipeline_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Instrumentation));
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

// Pipeline caches, which the layer's threads may use after vkCreate*Pipelines has returned.

namespace {

// Before the application reads or destroys a cache, or merges caches.
void finish_compiling(Device& device) {
  if (DeviceState* state = device.state()) state->objects.compile_threads.wait();
}

// True if the layer's threads may use the cache that is created: not with allocation callbacks,
// which expect the thread that calls Vulkan.
bool may_share(ObjectState& objects, const VkAllocationCallbacks* allocator) {
  if (!allocator) return objects.compile_threads.enabled();
  objects.has_callbacks.store(true, std::memory_order_relaxed);
  return false;
}

// The application synchronizes its own calls alone.
VKAPI_ATTR VkResult VKAPI_CALL hook_create_cache(VkDevice handle,
                                                 const VkPipelineCacheCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator,
                                                 VkPipelineCache* cache) {
  Device& device = *find_device(handle);
  VkPipelineCacheCreateInfo changed = *info;
  DeviceState* state = device.state();
  if (state && may_share(state->objects, allocator)) {
    changed.flags &= ~VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT;
  }
  return device.next().CreatePipelineCache(handle, &changed, allocator, cache);
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_cache(VkDevice handle, VkPipelineCache cache,
                                              const VkAllocationCallbacks* allocator) {
  Device& device = *find_device(handle);
  if (cache != VK_NULL_HANDLE) finish_compiling(device);
  device.next().DestroyPipelineCache(handle, cache, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_get_cache_data(VkDevice handle, VkPipelineCache cache,
                                                   size_t* size, void* data) {
  Device& device = *find_device(handle);
  finish_compiling(device);
  return device.next().GetPipelineCacheData(handle, cache, size, data);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_merge_caches(VkDevice handle, VkPipelineCache target,
                                                 uint32_t count, const VkPipelineCache* sources) {
  Device& device = *find_device(handle);
  finish_compiling(device);
  return device.next().MergePipelineCaches(handle, target, count, sources);
}

}  // namespace

void add_pipeline_cache_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Instrumentation));
  };
  add("vkCreatePipelineCache", hook_create_cache);
  add("vkDestroyPipelineCache", hook_destroy_cache);
  add("vkGetPipelineCacheData", hook_get_cache_data);
  add("vkMergePipelineCaches", hook_merge_caches);
}

// VK_EXT_shader_object, and the set layouts that shader objects keep. Its commands are in
// recording/entry_command_buffer.cpp.

namespace {

VKAPI_ATTR VkResult VKAPI_CALL hook_create_shaders(VkDevice handle, uint32_t count,
                                                   const VkShaderCreateInfoEXT* infos,
                                                   const VkAllocationCallbacks* allocator,
                                                   VkShaderEXT* shaders) {
  Device& device = *find_device(handle);
  DeviceState* state = device.state();
  if (!state) return device.next().CreateShadersEXT(handle, count, infos, allocator, shaders);
  return vk::guarded([&] {
    return create_shader_objects(state->objects, state->memory.words, {infos, count}, allocator,
                                 shaders);
  });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_shader(VkDevice handle, VkShaderEXT shader,
                                               const VkAllocationCallbacks* allocator) {
  Device& device = *find_device(handle);
  if (DeviceState* state = device.state()) {
    destroy_shader_object(state->objects, shader, allocator);
  } else {
    device.next().DestroyShaderEXT(handle, shader, allocator);
  }
}

// The binary contains the plain shader.
VKAPI_ATTR VkResult VKAPI_CALL hook_get_binary(VkDevice handle, VkShaderEXT shader, size_t* size,
                                               void* data) {
  Device& device = *find_device(handle);
  const VkResult result = device.next().GetShaderBinaryDataEXT(handle, shader, size, data);
  DeviceState* state = device.state();
  if (result == VK_SUCCESS && data && state) {
    vk::guarded_void([&] {
      note_shader_binary(state->objects, shader, {static_cast<const std::byte*>(data), *size});
    });
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_set_layout(VkDevice handle,
                                                      const VkDescriptorSetLayoutCreateInfo* info,
                                                      const VkAllocationCallbacks* allocator,
                                                      VkDescriptorSetLayout* layout) {
  Device& device = *find_device(handle);
  const VkResult result = device.next().CreateDescriptorSetLayout(handle, info, allocator, layout);
  DeviceState* state = device.state();
  if (result == VK_SUCCESS && state) state->objects.set_layouts.note(*layout, allocator);
  return result;
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_set_layout(VkDevice handle, VkDescriptorSetLayout layout,
                                                   const VkAllocationCallbacks* allocator) {
  Device& device = *find_device(handle);
  if (DeviceState* state = device.state()) {
    state->objects.set_layouts.destroy(layout, allocator);
  } else {
    device.next().DestroyDescriptorSetLayout(handle, layout, allocator);
  }
}

}  // namespace

void add_shader_object_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Instrumentation));
  };
  add("vkCreateShadersEXT", hook_create_shaders);
  add("vkDestroyShaderEXT", hook_destroy_shader);
  add("vkGetShaderBinaryDataEXT", hook_get_binary);
  add("vkCreateDescriptorSetLayout", hook_create_set_layout);
  add("vkDestroyDescriptorSetLayout", hook_destroy_set_layout);
}

}  // namespace tally::counters
