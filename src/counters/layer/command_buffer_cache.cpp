#include "counters/layer/command_buffer_cache.h"

#include "counters/layer/device.h"

namespace tally::counters {

thread_local constinit CachedCommandBuffer t_cached_command_buffer;
constinit std::atomic<uint64_t> g_command_buffer_generation{1};

CommandBuffer* find_uncached_command_buffer(VkCommandBuffer handle) {
  const uint64_t generation = g_command_buffer_generation.load(std::memory_order_acquire);
  Device* device = find_device(handle);
  if (!device || !device->state()) return nullptr;
  CommandBuffer* state = device->state()->command_buffers.find(handle).get();
  t_cached_command_buffer = {generation, handle, state};
  return state;
}

}  // namespace tally::counters
