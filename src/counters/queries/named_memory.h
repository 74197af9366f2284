// Memory of the application that one of its commands names: by a buffer and an offset, or by an
// address (VK_KHR_device_address_commands). Copies between it and memory of the layer.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_newest.h>

#include <vector>

#include "counters/base/device_table.h"
#include "counters/queries/query_memory.h"

namespace tally::counters {

struct NamedMemory {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  VkDeviceAddress address = 0;         // where there is no buffer
  VkAddressCommandFlagsKHR flags = 0;  // of the application, for its address

  bool is_null() const { return buffer == VK_NULL_HANDLE && address == 0; }
  NamedMemory behind(VkDeviceSize bytes) const {
    return address != 0 ? NamedMemory{VK_NULL_HANDLE, 0, address + bytes, flags}
                        : NamedMemory{buffer, offset + bytes};
  }
  bool operator==(const NamedMemory&) const = default;
};

// The flags for addresses of the layer's own memory.
inline constexpr VkAddressCommandFlagsKHR kLayerAddressFlags =
    VK_ADDRESS_COMMAND_FULLY_BOUND_BIT_KHR | VK_ADDRESS_COMMAND_STORAGE_BUFFER_USAGE_BIT_KHR;

// Copies the first `bytes` of the application's memory.
void copy_in(const DeviceTable& next, VkCommandBuffer commands, const NamedMemory& source,
             const QuerySpace& target, VkDeviceSize bytes);
// The offsets in `regions` are relative to `source` and `target`.
void copy_out(const DeviceTable& next, VkCommandBuffer commands, const QuerySpace& source,
              const NamedMemory& target, std::vector<VkBufferCopy> regions);

}  // namespace tally::counters
