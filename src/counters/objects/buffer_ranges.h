// Finds the application's buffer that contains a device address, among the buffers whose address it
// has queried. Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <map>
#include <mutex>
#include <unordered_map>

namespace tally::counters {

class BufferRanges {
 public:
  void created(VkBuffer buffer, VkDeviceSize size) {
    const std::lock_guard lock(mutex_);
    buffers_[buffer] = {size, 0};
  }

  void addressed(VkBuffer buffer, VkDeviceAddress address) {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end() || address == 0) return;
    found->second.address = address;
    ranges_[address] = buffer;
  }

  void destroyed(VkBuffer buffer) {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return;
    const auto range = ranges_.find(found->second.address);
    if (range != ranges_.end() && range->second == buffer) ranges_.erase(range);
    buffers_.erase(found);
  }

  // The number of bytes from the address to the end of its buffer; 0 if no buffer contains it.
  VkDeviceSize bytes_from(VkDeviceAddress address) const {
    const std::lock_guard lock(mutex_);
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return 0;
    --range;
    const VkDeviceSize offset = address - range->first;
    const VkDeviceSize size = buffers_.at(range->second).size;
    return offset < size ? size - offset : 0;
  }

 private:
  struct Buffer {
    VkDeviceSize size;
    VkDeviceAddress address;
  };
  mutable std::mutex mutex_;
  std::unordered_map<VkBuffer, Buffer> buffers_;  // buffers that may have an address
  std::map<VkDeviceAddress, VkBuffer> ranges_;
};

}  // namespace tally::counters
