// From a VkCommandBuffer to what the layer knows of it, in every command: a cache of one entry for
// each thread, valid while no command buffer was freed since, as the handle might have been given
// out again.
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
// Initial-exec: read without a call, so that a command of an idle command buffer saves no register.
[[gnu::tls_model(
    "initial-exec")]] extern thread_local constinit CachedCommandBuffer t_cached_command_buffer;
// Counts the times that command buffers went.
extern constinit std::atomic<uint64_t> g_command_buffer_generation;

// Looks it up, and keeps it in the cache.
CommandBuffer* find_uncached_command_buffer(VkCommandBuffer handle);

// Null where the cache does not have it.
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

// Call after command buffers are freed: the caches of all threads forget theirs.
inline void forget_cached_command_buffers() {
  g_command_buffer_generation.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace tally::counters
