// Conditional rendering that was begun outside of render passes. It would leave out the layer's
// dispatches too, so it is interrupted for them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>

#include "counters/layer/device_table.h"

namespace tally::counters {

class Condition {
 public:
  void begin(const VkConditionalRenderingBeginInfoEXT& info) {
    info_ = info;
    info_->pNext = nullptr;
  }
  void end() { info_.reset(); }

  // It is off for as long as this lives.
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
