// A VkDeviceCreateInfo whose extensions, features and queues can be changed. Owns all copies that
// it points to; what is not changed still refers to the application's memory.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "vk/chain.h"

namespace tally::counters {

class CreateInfoCopy {
 public:
  explicit CreateInfoCopy(const VkDeviceCreateInfo& info);
  CreateInfoCopy(const CreateInfoCopy&) = delete;
  CreateInfoCopy& operator=(const CreateInfoCopy&) = delete;

  // Valid until the next change.
  const VkDeviceCreateInfo& info();

  bool has_extension(const char* name) const;
  void add_extension(const char* name);  // unless it is there
  bool remove_extension(const char* name);

  template <typename T>
  T* find(VkStructureType type) const {
    return chain_.find<T>(type);
  }
  void remove(VkStructureType type) { chain_.remove(type); }

  // Enables a feature in the struct of this type; `set` adds the struct where there is none.
  template <typename Features, VkBool32 Features::*kMember>
  bool set_if_chained(VkStructureType type) {
    auto* features = find<Features>(type);
    if (features) features->*kMember = VK_TRUE;
    return features != nullptr;
  }
  template <typename Features, VkBool32 Features::*kMember>
  void set(VkStructureType type) {
    if (set_if_chained<Features, kMember>(type)) return;
    Features features{};
    features.sType = type;
    features.*kMember = VK_TRUE;
    chain_.add(features);
  }

  // Core features are in pEnabledFeatures or in VkPhysicalDeviceFeatures2, never in both. Null if
  // the application has neither.
  VkPhysicalDeviceFeatures* find_core_features();
  VkPhysicalDeviceFeatures& core_features();

  const std::vector<VkDeviceQueueCreateInfo>& queues() const { return queues_; }
  // Adds a queue to element `index` of queues().
  void add_queue(size_t index, float priority);

 private:
  VkDeviceCreateInfo info_;
  vk::ChainCopy chain_;
  std::vector<const char*> extensions_;
  VkPhysicalDeviceFeatures core_features_{};
  std::vector<VkDeviceQueueCreateInfo> queues_;
  std::vector<float> priorities_;  // of the queues that add_queue changed
};

}  // namespace tally::counters
