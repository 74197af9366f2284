#include "counters/memory/memory_type.h"

namespace tally::counters {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkMemoryPropertyFlags kNever =
    VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;

// The allowed type with the highest score. A negative score rejects a type.
template <typename Score>
std::optional<uint32_t> best(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                             const Score& score) {
  std::optional<uint32_t> result;
  int highest = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((allowed & (1u << i)) == 0 || (flags & kNever) != 0) continue;
    if (score(flags) > highest) {
      highest = score(flags);
      result = i;
    }
  }
  return result;
}

int weight(VkMemoryPropertyFlags flags, VkMemoryPropertyFlags bit, int value) {
  return (flags & bit) != 0 ? value : 0;
}

}  // namespace

RecordMemory resolve_record_memory(RecordMemory wanted,
                                   const VkPhysicalDeviceMemoryProperties& memory) {
  if (wanted != RecordMemory::Auto) return wanted;
  const auto both = best(memory, ~0u, [](VkMemoryPropertyFlags flags) {
    return (flags & (kLocal | kVisible)) == (kLocal | kVisible) ? 1 : -1;
  });
  return both ? RecordMemory::Host : RecordMemory::Device;
}

std::optional<uint32_t> host_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                         uint32_t allowed) {
  return best(memory, allowed, [](VkMemoryPropertyFlags flags) {
    if ((flags & kVisible) == 0) return -1;
    return weight(flags, kLocal, 4) + weight(flags, kCoherent, 2) + weight(flags, kCached, 1);
  });
}

bool caches_host_records(const VkPhysicalDeviceMemoryProperties& memory) {
  const auto type = host_memory_type(memory, ~0u);
  return type && (memory.memoryTypes[*type].propertyFlags & kCached) != 0;
}

std::optional<uint32_t> device_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                           uint32_t allowed) {
  return best(memory, allowed, [](VkMemoryPropertyFlags flags) {
    return weight(flags, kLocal, 2) + ((flags & kVisible) == 0 ? 1 : 0);
  });
}

std::optional<uint32_t> staging_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                            uint32_t allowed) {
  return best(memory, allowed, [](VkMemoryPropertyFlags flags) {
    if ((flags & kVisible) == 0) return -1;
    return weight(flags, kCached, 2) + weight(flags, kCoherent, 1);
  });
}

}  // namespace tally::counters
