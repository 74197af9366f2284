// A descriptor set layout that the application created without allocation callbacks. Once the
// application has destroyed it, shader objects whose variants are not made yet keep it: they need
// the driver's handle.
#pragma once

#include <vulkan/vulkan_core.h>

#include "counters/base/device_table.h"

namespace tally::counters {

class SetLayout {
 public:
  SetLayout(VkDevice device, const DeviceTable& next, VkDescriptorSetLayout handle)
      : device_(device), next_(next), handle_(handle) {}
  ~SetLayout() {
    if (owned_) next_.DestroyDescriptorSetLayout(device_, handle_, nullptr);
  }
  SetLayout(const SetLayout&) = delete;
  SetLayout& operator=(const SetLayout&) = delete;

  // The application destroys it. Call while holding a reference.
  void own() { owned_ = true; }

 private:
  VkDevice device_;
  const DeviceTable& next_;
  VkDescriptorSetLayout handle_;
  bool owned_ = false;
};

}  // namespace tally::counters
