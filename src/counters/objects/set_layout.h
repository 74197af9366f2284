// A descriptor set layout that the application created without allocation callbacks. Once the
// application has destroyed it, shader objects keep it for what is made of them later.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "counters/base/device_table.h"
#include "vk/boundary.h"
#include "vk/handle_map.h"

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

using KeptSetLayouts = std::vector<std::shared_ptr<const SetLayout>>;

// Those of a device that exist, by their handles. Thread-safe.
class SetLayouts {
 public:
  // `used`: shader objects are enabled on the device. Without them nothing is kept.
  SetLayouts(VkDevice device, const DeviceTable& next, bool used)
      : device_(device), next_(next), used_(used) {}

  // After the application has created the layout.
  void note(VkDescriptorSetLayout layout, const VkAllocationCallbacks* allocator) {
    if (!used_ || allocator) return;
    vk::guarded_void(
        [&] { layouts_.insert(layout, std::make_shared<SetLayout>(device_, next_, layout)); });
  }
  // In place of the driver's command.
  void destroy(VkDescriptorSetLayout layout, const VkAllocationCallbacks* allocator) {
    if (const auto known = layouts_.take(layout)) {
      known->own();
    } else {
      next_.DestroyDescriptorSetLayout(device_, layout, allocator);
    }
  }

  // Nothing if one of them is not known. Null handles are left out.
  std::optional<KeptSetLayouts> find(std::span<const VkDescriptorSetLayout> handles) const {
    KeptSetLayouts found;
    for (const VkDescriptorSetLayout handle : handles) {
      if (handle == VK_NULL_HANDLE) continue;
      if (!found.emplace_back(layouts_.find(handle))) return std::nullopt;
    }
    return found;
  }

 private:
  const VkDevice device_;
  const DeviceTable& next_;
  const bool used_;
  vk::HandleMap<VkDescriptorSetLayout, std::shared_ptr<SetLayout>> layouts_;
};

}  // namespace tally::counters
