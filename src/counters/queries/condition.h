// Conditional rendering that began outside of render passes. It would discard dispatches of the
// layer too, so it is interrupted for them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>

#include "counters/base/device_table.h"

namespace tally::counters {

class Condition {
 public:
  void begin(const VkConditionalRenderingBeginInfoEXT& info) {
    info_ = info;
    info_->pNext = nullptr;
  }
  void end() { info_.reset(); }

  // Conditional rendering is off for the lifetime of this object.
  class Interruption {
   public:
    Interruption(const Condition& condition, const DeviceTable& next, VkCommandBuffer commands)
        : info_(condition.info_), next_(next), commands_(commands) {
      if (info_) next_.CmdEndConditionalRenderingEXT(commands_);
    }
    ~Interruption() {
      if (info_) next_.CmdBeginConditionalRenderingEXT(commands_, &*info_);
    }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

   private:
    const std::optional<VkConditionalRenderingBeginInfoEXT>& info_;
    const DeviceTable& next_;
    VkCommandBuffer commands_;
  };

 private:
  std::optional<VkConditionalRenderingBeginInfoEXT> info_;
};

}  // namespace tally::counters
