// Allocation callbacks of an application.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace tally::test {

// Counts the allocations made through it, and those not freed.
struct CountingAllocator {
  static void* VKAPI_CALL allocate(void* self, size_t size, size_t alignment,
                                   VkSystemAllocationScope) {
    auto* counter = static_cast<CountingAllocator*>(self);
    ++counter->calls;
    ++counter->alive;
    const size_t usable = std::max(alignment, sizeof(void*));
    return std::aligned_alloc(usable, (size + usable - 1) / usable * usable);
  }
  static void* VKAPI_CALL reallocate(void*, void*, size_t, size_t, VkSystemAllocationScope) {
    return nullptr;
  }
  static void VKAPI_CALL release(void* self, void* memory) {
    if (memory) --static_cast<CountingAllocator*>(self)->alive;
    std::free(memory);
  }
  VkAllocationCallbacks callbacks() {
    return {this, allocate, reallocate, release, nullptr, nullptr};
  }
  int calls = 0;
  int alive = 0;
};

}  // namespace tally::test
