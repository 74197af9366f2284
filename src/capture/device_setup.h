// What has to be known and changed when a device is created, so that its shaders can be
// instrumented.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "capture/device.h"
#include "capture/instance.h"

namespace tally::capture {

// Describes the device; `description.not_captured` says why it cannot be captured, if it cannot.
DeviceSetup inspect_device(const Instance& instance, VkPhysicalDevice physical_device,
                           const VkDeviceCreateInfo& info, Id id);

// The application's create info with VK_ARM_shader_instrumentation enabled.
class CapturedDeviceInfo {
 public:
  explicit CapturedDeviceInfo(const VkDeviceCreateInfo& info);
  CapturedDeviceInfo(const CapturedDeviceInfo&) = delete;
  CapturedDeviceInfo& operator=(const CapturedDeviceInfo&) = delete;
  const VkDeviceCreateInfo* get() const { return &info_; }

 private:
  VkDeviceCreateInfo info_;
  std::vector<const char*> extensions_;
  VkPhysicalDeviceShaderInstrumentationFeaturesARM features_;
};

}  // namespace tally::capture
