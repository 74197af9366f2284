// Selects memory types for records.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <optional>

#include "counters/memory/context.h"

namespace tally::counters {

// Replaces Auto by Host or Device, as the device's memory suggests.
RecordMemory resolve_record_memory(RecordMemory wanted,
                                   const VkPhysicalDeviceMemoryProperties& memory);

// For mode Host: mappable memory. Prefers device-local, then coherent, then cached memory.
std::optional<uint32_t> host_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                         uint32_t allowed);

// True if the processor caches the memory of mode Host.
bool caches_host_records(const VkPhysicalDeviceMemoryProperties& memory);

// For mode Device: device-local memory. Prefers memory that is not host-visible.
std::optional<uint32_t> device_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                           uint32_t allowed);

// For copies that the host reads. Prefers cached memory.
std::optional<uint32_t> staging_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                            uint32_t allowed);

}  // namespace tally::counters
