// Which memory type records live in.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <optional>

#include "counters/memory/context.h"

namespace tally::counters {

// Host or Device: what Auto means on a device with this memory; the others unchanged.
RecordMemory resolve_record_memory(RecordMemory wanted,
                                   const VkPhysicalDeviceMemoryProperties& memory);

// For mode Host: mapped records, device-local before not, coherent before not, cached before not.
std::optional<uint32_t> host_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                         uint32_t allowed);

// For mode Device: device-local records, better where the host cannot see it.
std::optional<uint32_t> device_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                           uint32_t allowed);

// For copies that the host reads: cached before not. Need not be device-local.
std::optional<uint32_t> staging_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                            uint32_t allowed);

}  // namespace tally::counters
