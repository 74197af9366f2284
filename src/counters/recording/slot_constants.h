// The application's own push constants in the bytes of the slot, for layouts that reach there: what
// the layer pushes writes over them, and they are pushed again before a command that reads them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>

#include "counters/objects/pipeline_layout.h"

namespace tally::counters {

class SlotConstants {
 public:
  bool empty() const { return begin_ == end_; }
  void clear() { begin_ = end_ = 0; }
  // An update by the application.
  void keep(const PipelineLayout& layout, uint32_t offset, uint32_t size, const void* values);
  void restore(const PipelineLayout& layout, VkCommandBuffer commands) const;

 private:
  std::array<std::byte, 8 * (kAddressSlots + 2)> bytes_{};  // with region slot and PushGuard
  uint32_t begin_ = 0, end_ = 0;  // offsets in push constants; empty when equal
};

}  // namespace tally::counters
