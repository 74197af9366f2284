// A device's properties that every part of the layer may use. Filled when the device is created,
// then read only.
#pragma once

#include <vulkan/vk_layer.h>

#include "counters/base/device_table.h"
#include "counters/base/messages.h"
#include "counters/base/options.h"
#include "counters/base/physical_device.h"
#include "vk/handle_map.h"

namespace tally::counters {

struct DeviceContext {
  VkDevice handle;
  const DeviceTable& next;
  const PhysicalDevice& gpu;
  const Options& options;
  Messages& messages;
  PFN_vkSetDeviceLoaderData set_loader_data;  // null where the loader does not provide it

  uint64_t handle_bits() const { return vk::handle_bits(handle); }
};

}  // namespace tally::counters
