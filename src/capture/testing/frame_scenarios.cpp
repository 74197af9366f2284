#include "capture/testing/frame_scenarios.h"

#include <array>
#include <string>

namespace tally::test {
namespace {

constexpr uint32_t kFrames = 12;
constexpr uint32_t kKept = 100;  // groups of what is recorded once
constexpr VkCommandBufferUsageFlags kReusable = 0;

void record(const Doubler& doubler, VkCommandBuffer commands, uint32_t groups,
            VkCommandBufferUsageFlags usage = kReusable) {
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = usage;
  check(vkBeginCommandBuffer(commands, &begin));
  doubler.dispatch(commands, groups);
  check(vkEndCommandBuffer(commands));
}

VkCommandBuffer allocate(const Context& context,
                         VkCommandBufferLevel level = VK_COMMAND_BUFFER_LEVEL_PRIMARY) {
  const VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr,
                                         context.command_pool(), level, 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(context.device(), &info, &commands));
  return commands;
}

// One command buffer, recorded again for each frame.
void recorded_again(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = allocate(context);
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    record(doubler, commands, frame + 1);
    context.submit_and_wait(commands);
  }
}

// One command buffer, recorded before the first frame.
void recorded_once(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = allocate(context);
  record(doubler, commands, kKept);
  for (uint32_t frame = 0; frame < kFrames; ++frame) context.submit_and_wait(commands);
}

// Recorded for each of the first frames, then kept, then recorded once more and kept.
void kept_later(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = allocate(context);
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    if (frame < 4 || frame == 8) record(doubler, commands, frame + 1);
    context.submit_and_wait(commands);
  }
}

// A primary for each frame executes a secondary that was recorded once.
void kept_secondary(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer secondary = allocate(context, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
  const VkCommandBufferInheritanceInfo inheritance{
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr,
                                       kReusable, &inheritance};
  check(vkBeginCommandBuffer(secondary, &begin));
  doubler.dispatch(secondary, kKept);
  check(vkEndCommandBuffer(secondary));
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    context.run([&](VkCommandBuffer commands) {
      doubler.dispatch(commands, frame + 1);
      vkCmdExecuteCommands(commands, 1, &secondary);
      full_barrier(commands);
    });
  }
}

// Each frame is recorded while its predecessor is not submitted yet.
void recorded_ahead(Context& context) {
  const Doubler doubler(context);
  std::array<VkCommandBuffer, 2> ring{allocate(context), allocate(context)};
  record(doubler, ring[0], 1, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    record(doubler, ring[(frame + 1) % 2], frame + 2, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    context.submit_and_wait(ring[frame % 2]);
  }
}

// All of them are in flight at once.
void kept_in_flight(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = allocate(context);
  record(doubler, commands, kKept, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    check(vkQueueSubmit(context.queue(), 1, &info, VK_NULL_HANDLE));
  }
  check(vkQueueWaitIdle(context.queue()));
}

// Frames until the process is ended.
void endless(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = allocate(context);
  for (uint32_t frame = 0;; ++frame) {
    record(doubler, commands, frame % 1000 + 1);
    context.submit_and_wait(commands);
  }
}

// The same, with new objects and texts in each: the frame's number is in all names.
void endless_names(Context& context) {
  const Doubler doubler(context);
  const auto begin_label =
      context.function<PFN_vkQueueBeginDebugUtilsLabelEXT>("vkQueueBeginDebugUtilsLabelEXT");
  const auto end_label =
      context.function<PFN_vkQueueEndDebugUtilsLabelEXT>("vkQueueEndDebugUtilsLabelEXT");
  for (uint64_t frame = 0;; ++frame) {
    const std::string number = std::to_string(frame);
    const VkCommandBuffer commands = allocate(context);
    set_name(context, VK_OBJECT_TYPE_COMMAND_BUFFER, commands, ("commands " + number).c_str());
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    check(vkBeginCommandBuffer(commands, &begin));
    {
      const Label all(context, commands, "all");
      const Label outer(context, commands, ("frame " + number).c_str());
      const Label inner(context, commands, ("dispatch " + number).c_str());
      doubler.dispatch(commands, 1);
    }
    check(vkEndCommandBuffer(commands));
    const std::string name = "submission " + number;
    const VkDebugUtilsLabelEXT label{
        VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, nullptr, name.c_str(), {}};
    begin_label(context.queue(), &label);
    context.submit_and_wait(commands);
    end_label(context.queue());
    vkFreeCommandBuffers(context.device(), context.command_pool(), 1, &commands);
  }
}

}  // namespace

const Scenarios& frame_scenarios() {
  static const Scenarios scenarios = {
      {"recorded_again", recorded_again},
      {"recorded_once", recorded_once},
      {"kept_later", kept_later},
      {"kept_secondary", kept_secondary},
      {"recorded_ahead", recorded_ahead},
      {"kept_in_flight", kept_in_flight},
      {"endless", endless},
      {"endless_names", endless_names},
  };
  return scenarios;
}

}  // namespace tally::test
