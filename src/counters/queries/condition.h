// Conditional rendering that began outside of render passes. It would discard dispatches of the
// layer too, so it is interrupted for them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_newest.h>

#include <variant>

#include "counters/base/device_table.h"

namespace tally::counters {

class Condition {
 public:
  // How it began: nothing, or the command's info.
  using Info = std::variant<std::monostate, VkConditionalRenderingBeginInfoEXT,
                            VkConditionalRenderingBeginInfo2EXT>;

  template <typename BeginInfo>
  void begin(BeginInfo info) {
    info.pNext = nullptr;
    info_ = info;
  }
  void end() { info_ = {}; }

  // Conditional rendering is off for the lifetime of this object.
  class Interruption {
   public:
    Interruption(const Condition& condition, const DeviceTable& next, VkCommandBuffer commands)
        : info_(condition.info_), next_(next), commands_(commands) {
      if (info_.index() != 0) next_.CmdEndConditionalRenderingEXT(commands_);
    }
    ~Interruption() {
      if (const auto* info = std::get_if<VkConditionalRenderingBeginInfoEXT>(&info_)) {
        next_.CmdBeginConditionalRenderingEXT(commands_, info);
      } else if (const auto* newer = std::get_if<VkConditionalRenderingBeginInfo2EXT>(&info_)) {
        next_.CmdBeginConditionalRendering2EXT(commands_, newer);
      }
    }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

   private:
    const Info& info_;
    const DeviceTable& next_;
    VkCommandBuffer commands_;
  };

 private:
  Info info_;
};

}  // namespace tally::counters
