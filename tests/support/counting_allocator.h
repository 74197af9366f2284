// Allocation callbacks of an application.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <new>

namespace tally::test {

// Counts the allocations made through it, and those not freed.
struct CountingAllocator {
  static void* VKAPI_CALL allocate(void* self, size_t size, size_t alignment,
                                   VkSystemAllocationScope) {
    if (alignment > static_cast<size_t>(kAlignment)) return nullptr;
    auto* counter = static_cast<CountingAllocator*>(self);
    ++counter->calls;
    ++counter->alive;
    return ::operator new(size, kAlignment);
  }
  static void* VKAPI_CALL reallocate(void*, void*, size_t, size_t, VkSystemAllocationScope) {
    return nullptr;
  }
  static void VKAPI_CALL release(void* self, void* memory) {
    if (memory) --static_cast<CountingAllocator*>(self)->alive;
    ::operator delete(memory, kAlignment);
  }
  VkAllocationCallbacks callbacks() {
    return {this, allocate, reallocate, release, nullptr, nullptr};
  }
  static constexpr std::align_val_t kAlignment{256};
  int calls = 0;
  int alive = 0;
};

}  // namespace tally::test
