// Transform feedback in a command buffer: pipelines may not be bound while it is active, and
// emulated queries count it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>

#include "counters/recording/command_state.h"
#include "counters/recording/query_commands.h"

namespace tally::counters {

class TransformFeedback {
 public:
  // The counter buffers of vkCmdBeginTransformFeedbackEXT, or `infos` of
  // vkCmdBeginTransformFeedback2EXT.
  struct Counters {
    uint32_t first = 0, count = 0;
    const VkBuffer* buffers = nullptr;
    const VkDeviceSize* offsets = nullptr;
    const VkBindTransformFeedbackBuffer2InfoEXT* infos = nullptr;
  };

  TransformFeedback(CommandState& state, QueryCommands& queries)
      : state_(state), queries_(queries) {}

  void reset() { sizes_ = {}; }
  void bind_buffers(uint32_t first, uint32_t count, const VkBuffer* buffers,
                    const VkDeviceSize* offsets, const VkDeviceSize* sizes);
  void bind_buffers(uint32_t first, uint32_t count,
                    const VkBindTransformFeedbackBuffer2InfoEXT* infos);
  // Before transform feedback begins, and after it has ended.
  void begin(const Counters& counters);
  void end();

 private:
  void count(const Counters& counters);
  void copy_counters(const Counters& counters, const FeedbackStart& start) const;
  void copy_addressed_counters(const Counters& counters, const FeedbackStart& start) const;

  CommandState& state_;
  QueryCommands& queries_;
  std::array<VkDeviceSize, kFeedbackBuffers> sizes_{};  // of the bound buffers
};

}  // namespace tally::counters
