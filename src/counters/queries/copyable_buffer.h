// The create info of a buffer that may contain arguments or indices of commands, with the usage
// that lets the layer copy them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_newer.h>

#include "vk/chain.h"

namespace tally::counters {

class CopyableBuffer {
 public:
  CopyableBuffer(const VkBufferCreateInfo& info, bool queries);
  const VkBufferCreateInfo* info() const { return &info_; }
  // True if it may be bound for indices or transform feedback, where its size is needed.
  bool is_bound() const { return is_bound_; }

 private:
  bool is_bound_ = false;
  VkBufferCreateInfo info_;
  vk::ChainCopy chain_;
};

}  // namespace tally::counters
