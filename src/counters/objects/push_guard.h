// Two floats above 1 in the last 8 bytes of the push constants: a workaround for llvmpipe.
//
// llvmpipe has a fast path that fills rectangles with a constant colour (lp_fs_linear_run). It
// first converts the push constants of the draw into an array of 64 bytes on its stack, one byte
// each. At the first one that is not between 0 and 1 it stops, and the fast path is not taken. But
// lavapipe adds up the sizes of the push constants of shader objects that are bound together, and
// of libraries with different layouts. The layer's ranges end where the device's 64 push constants
// end, so the sum is more than 64.
// docs/reference/drivers.md has a reproduction without the layer.
#pragma once

#include "counters/base/device_table.h"
#include "counters/objects/pipeline_layout.h"

namespace tally::counters {

class PushGuard {
 public:
  // Does nothing unless the rules have guard bytes.
  PushGuard(VkDevice device, const DeviceTable& next, const LayoutRules& rules);
  ~PushGuard();
  PushGuard(const PushGuard&) = delete;
  PushGuard& operator=(const PushGuard&) = delete;

  void push(VkCommandBuffer commands) const;

 private:
  VkDevice device_;
  const DeviceTable& next_;
  uint32_t offset_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
