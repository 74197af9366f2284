// Pipeline caches, which the layer's threads may use after vkCreate*Pipelines has returned.
#include "counters/layer/entry_points.h"
#include "vk/boundary.h"

namespace tally::counters {
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

void add_pipeline_cache_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kInstrumentation));
  };
  add("vkCreatePipelineCache", hook_create_cache);
  add("vkDestroyPipelineCache", hook_destroy_cache);
  add("vkGetPipelineCacheData", hook_get_cache_data);
  add("vkMergePipelineCaches", hook_merge_caches);
}

}  // namespace tally::counters
