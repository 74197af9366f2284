// Inspects a device before its creation, and changes its create info so that its shaders can be
// instrumented.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "capture/device.h"
#include "capture/instance.h"
#include "vk/chain.h"

namespace tally::capture {

// Describes the device. If the device cannot be captured, `description.not_captured` gives the
// reason.
DeviceSetup inspect_device(const Instance& instance, VkPhysicalDevice physical_device,
                           const VkDeviceCreateInfo& info, Id id);

// Whether extensions whose shaders cannot be counted are hidden on this device: the setting asks
// for it, the layer has a receiver or keeps live totals, and the device can be captured.
bool hides_extensions(const Instance& instance, VkPhysicalDevice device);

// The application's create info with VK_ARM_shader_instrumentation enabled. If `regions` is
// enabled, it also enables what counting by region needs.
class CapturedDeviceInfo {
 public:
  CapturedDeviceInfo(const VkDeviceCreateInfo& info, const RegionSetup& regions);
  CapturedDeviceInfo(const CapturedDeviceInfo&) = delete;
  CapturedDeviceInfo& operator=(const CapturedDeviceInfo&) = delete;
  const VkDeviceCreateInfo* get() const { return &info_; }

 private:
  void enable_regions(bool add_address_extension);

  VkDeviceCreateInfo info_;
  vk::ChainCopy chain_;
  std::vector<const char*> extensions_;
};

}  // namespace tally::capture
