// Looks up the state of a VkCommandBuffer, as every command does. Each thread caches one entry. The
// entry is valid until a command buffer is freed, since the driver may reuse the handle.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>

namespace tally::counters {

class CommandBuffer;

struct CachedCommandBuffer {
  uint64_t generation = 0;
  VkCommandBuffer handle = VK_NULL_HANDLE;
  CommandBuffer* state = nullptr;
};
// The initial-exec model reads it without a call, so that idle commands save no registers.
[[gnu::tls_model(
    "initial-exec")]] extern thread_local constinit CachedCommandBuffer t_cached_command_buffer;
// Incremented when command buffers are freed.
extern constinit std::atomic<uint64_t> g_command_buffer_generation;

// Looks it up and caches it.
CommandBuffer* find_uncached_command_buffer(VkCommandBuffer handle);

// Null where it is not cached.
inline CommandBuffer* find_cached_command_buffer(VkCommandBuffer handle) {
  const CachedCommandBuffer& cached = t_cached_command_buffer;
  const uint64_t generation = g_command_buffer_generation.load(std::memory_order_acquire);
  const bool is_cached = cached.handle == handle && cached.generation == generation;
  return is_cached ? cached.state : nullptr;
}

// Null for one the layer does not know.
inline CommandBuffer* find_command_buffer(VkCommandBuffer handle) {
  CommandBuffer* const cached = find_cached_command_buffer(handle);
  return cached ? cached : find_uncached_command_buffer(handle);
}

// Call after command buffers are freed: invalidates the caches of all threads.
inline void invalidate_cached_command_buffers() {
  g_command_buffer_generation.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace tally::counters
