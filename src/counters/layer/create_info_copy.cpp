#include "counters/layer/create_info_copy.h"

#include <algorithm>
#include <cstring>

namespace tally::counters {

CreateInfoCopy::CreateInfoCopy(const VkDeviceCreateInfo& info)
    : info_(info),
      chain_(info.pNext),
      extensions_(info.ppEnabledExtensionNames,
                  info.ppEnabledExtensionNames + info.enabledExtensionCount),
      queues_(info.pQueueCreateInfos, info.pQueueCreateInfos + info.queueCreateInfoCount) {
  if (!info.pEnabledFeatures) return;
  core_features_ = *info.pEnabledFeatures;
  info_.pEnabledFeatures = &core_features_;
}

const VkDeviceCreateInfo& CreateInfoCopy::info() {
  info_.pNext = chain_.head();
  info_.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
  info_.ppEnabledExtensionNames = extensions_.data();
  info_.queueCreateInfoCount = static_cast<uint32_t>(queues_.size());
  info_.pQueueCreateInfos = queues_.data();
  return info_;
}

bool CreateInfoCopy::has_extension(const char* name) const {
  return std::ranges::any_of(extensions_,
                             [&](const char* enabled) { return std::strcmp(enabled, name) == 0; });
}

void CreateInfoCopy::add_extension(const char* name) {
  if (!has_extension(name)) extensions_.push_back(name);
}

bool CreateInfoCopy::remove_extension(const char* name) {
  return std::erase_if(extensions_,
                       [&](const char* enabled) { return std::strcmp(enabled, name) == 0; }) != 0;
}

VkPhysicalDeviceFeatures* CreateInfoCopy::find_core_features() {
  auto* chained = find<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  if (chained) return &chained->features;
  return info_.pEnabledFeatures ? &core_features_ : nullptr;
}

VkPhysicalDeviceFeatures& CreateInfoCopy::core_features() {
  if (VkPhysicalDeviceFeatures* features = find_core_features()) return *features;
  info_.pEnabledFeatures = &core_features_;
  return core_features_;
}

void CreateInfoCopy::add_queue(size_t index, float priority) {
  VkDeviceQueueCreateInfo& queue = queues_[index];
  priorities_.assign(queue.pQueuePriorities, queue.pQueuePriorities + queue.queueCount);
  priorities_.push_back(priority);
  queue.queueCount += 1;
  queue.pQueuePriorities = priorities_.data();
}

}  // namespace tally::counters
