// What VK_EXT_debug_utils, VK_EXT_debug_marker and VK_EXT_private_data attach to objects of the
// layer. The driver must never receive a handle of the layer. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <vulkan/vulkan_core.h>

#include "vk/handle_map.h"

namespace tally::counters {

class ObjectNames {
 public:
  void set_private_data(uint64_t object, VkPrivateDataSlot slot, uint64_t data) {
    const std::lock_guard lock(mutex_);
    private_data_[{object, vk::handle_bits(slot)}] = data;
  }
  // 0 if nothing was set, as specified.
  uint64_t private_data(uint64_t object, VkPrivateDataSlot slot) const {
    const std::lock_guard lock(mutex_);
    const auto found = private_data_.find({object, vk::handle_bits(slot)});
    return found == private_data_.end() ? 0 : found->second;
  }
  void remove(uint64_t object) {
    const std::lock_guard lock(mutex_);
    private_data_.erase(private_data_.lower_bound({object, 0}),
                        private_data_.upper_bound({object, ~uint64_t{0}}));
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> private_data_;
};

}  // namespace tally::counters
