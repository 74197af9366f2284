#include "capture/testing/frame_end_scenarios.h"

#include <tally/vulkan_newer.h>

#include <array>

#include "capture/testing/painter.h"

namespace tally::test {
namespace {

constexpr uint32_t kFrames = 4;

// A device on which the application marks its frames.
class MarkedDevice {
 public:
  MarkedDevice() : context(options(feature)) {}

 private:
  static ContextOptions options(VkPhysicalDeviceFrameBoundaryFeaturesEXT& feature) {
    ContextOptions options;
    options.device_extensions = {VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME};
    options.device_next = &feature;
    return options;
  }
  VkPhysicalDeviceFrameBoundaryFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT, nullptr, VK_TRUE};

 public:
  Context context;
};

VkFrameBoundaryEXT boundary(uint64_t frame,
                            VkFrameBoundaryFlagsEXT flags = VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT) {
  VkFrameBoundaryEXT mark{VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT};
  mark.flags = flags;
  mark.frameID = frame;
  return mark;
}

VkCommandBuffer recorded(
    Context& context, const Doubler& doubler, uint32_t groups,
    VkCommandBufferUsageFlags usage = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT) {
  const VkCommandBuffer commands = context.begin_commands(usage);
  doubler.dispatch(commands, groups);
  check(vkEndCommandBuffer(commands));
  return commands;
}

VkSubmitInfo submit_info(const VkCommandBuffer& commands, const void* next = nullptr) {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO, next};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  return info;
}

void submit_one(const Context& context, VkCommandBuffer commands, const void* next = nullptr,
                VkFence fence = VK_NULL_HANDLE) {
  const VkSubmitInfo info = submit_info(commands, next);
  check(vkQueueSubmit(context.queue(), 1, &info, fence));
}

// Two submissions a frame, of which the second one is marked as the last. The first one names the
// frame, without its end.
void marked(Context&) {
  MarkedDevice device;
  Context& context = device.context;
  const Doubler doubler(context);
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    const VkFrameBoundaryEXT begun = boundary(frame, 0), ended = boundary(frame);
    submit_one(context, recorded(context, doubler, frame + 1), &begun);
    submit_one(context, recorded(context, doubler, 100), &ended);
  }
  check(vkQueueWaitIdle(context.queue()));
}

// The ends are in the infos of one call, and in the info of a bind of nothing.
template <VkCommandBufferUsageFlags usage>
void marked_batches(Context&) {
  MarkedDevice device;
  Context& context = device.context;
  const Doubler doubler(context);
  const VkFrameBoundaryEXT mark = boundary(7);
  const std::array commands{
      recorded(context, doubler, 1, usage), recorded(context, doubler, 2, usage),
      recorded(context, doubler, 3, usage), recorded(context, doubler, 4, usage),
      recorded(context, doubler, 5, usage)};
  const std::array infos{submit_info(commands[0]), submit_info(commands[1], &mark),
                         submit_info(commands[2], &mark), submit_info(commands[3])};
  check(vkQueueSubmit(context.queue(), 4, infos.data(), VK_NULL_HANDLE));
  const VkBindSparseInfo nothing{VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, &mark};
  check(context.function<PFN_vkQueueBindSparse>("vkQueueBindSparse")(context.queue(), 1, &nothing,
                                                                     VK_NULL_HANDLE));
  const VkCommandBufferSubmitInfo last{VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, nullptr,
                                       commands[4], 0};
  VkSubmitInfo2 info{VK_STRUCTURE_TYPE_SUBMIT_INFO_2, &mark};
  info.commandBufferInfoCount = 1;
  info.pCommandBufferInfos = &last;
  check(vkQueueSubmit2(context.queue(), 1, &info, VK_NULL_HANDLE));
  check(vkQueueWaitIdle(context.queue()));
}

// One command buffer in both parts of a call.
void marked_twice(Context&) {
  MarkedDevice device;
  Context& context = device.context;
  const Doubler doubler(context);
  const VkFrameBoundaryEXT mark = boundary(7);
  const VkCommandBuffer commands =
      context.begin_commands(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  doubler.dispatch(commands, 5);
  check(vkEndCommandBuffer(commands));
  const std::array infos{submit_info(commands, &mark), submit_info(commands, &mark)};
  check(vkQueueSubmit(context.queue(), 2, infos.data(), VK_NULL_HANDLE));
  check(vkQueueWaitIdle(context.queue()));
}

enum class Marks { None, Submissions, Presents };

void present_frames(Context& context, Marks marks) {
  const Doubler doubler(context);
  const VkSwapchainCreateInfoKHR create{VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR};
  VkSwapchainKHR swapchain = VK_NULL_HANDLE;
  check(context.function<PFN_vkCreateSwapchainKHR>("vkCreateSwapchainKHR")(
      context.device(), &create, nullptr, &swapchain));
  const auto present = context.function<PFN_vkQueuePresentKHR>("vkQueuePresentKHR");
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    const VkFrameBoundaryEXT mark = boundary(frame);
    submit_one(context, recorded(context, doubler, 100));
    submit_one(context, recorded(context, doubler, frame + 1),
               marks == Marks::Submissions ? &mark : nullptr);
    const VkPresentInfoKHR info{VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                marks == Marks::Presents ? &mark : nullptr};
    check(present(context.queue(), &info));
  }
  check(vkQueueWaitIdle(context.queue()));
  context.function<PFN_vkDestroySwapchainKHR>("vkDestroySwapchainKHR")(context.device(), swapchain,
                                                                       nullptr);
}

void presented(Context& context) { present_frames(context, Marks::None); }
void marked_and_presented(Context&) {
  MarkedDevice device;
  present_frames(device.context, Marks::Submissions);
}
void marked_at_presents(Context&) {
  MarkedDevice device;
  present_frames(device.context, Marks::Presents);
}

// The extension is enabled, its feature is not, and nothing is marked.
void enabled_and_unmarked(Context&) {
  Context context({.device_extensions = {VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME}});
  const Doubler doubler(context);
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    submit_one(context, recorded(context, doubler, frame + 1));
  }
  check(vkQueueWaitIdle(context.queue()));
}

// Four rounds of two submissions within a label of the queue. Each round waits for a fence, and
// after each second one for the queue.
void rounds(Context& context) {
  const Doubler doubler(context);
  const auto begin =
      context.function<PFN_vkQueueBeginDebugUtilsLabelEXT>("vkQueueBeginDebugUtilsLabelEXT");
  const auto end =
      context.function<PFN_vkQueueEndDebugUtilsLabelEXT>("vkQueueEndDebugUtilsLabelEXT");
  const VkFenceCreateInfo create{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence = VK_NULL_HANDLE;
  check(vkCreateFence(context.device(), &create, nullptr, &fence));
  for (uint32_t round = 0; round < 4; ++round) {
    const VkDebugUtilsLabelEXT label{VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                     nullptr,
                                     round % 2 == 0 ? "even round" : "odd round",
                                     {}};
    begin(context.queue(), &label);
    submit_one(context, recorded(context, doubler, round + 1));
    submit_one(context, recorded(context, doubler, 100), nullptr, fence);
    check(vkWaitForFences(context.device(), 1, &fence, VK_TRUE, UINT64_MAX));
    check(vkGetFenceStatus(context.device(), fence));  // nothing was submitted in between
    check(vkResetFences(context.device(), 1, &fence));
    end(context.queue());
    if (round % 2 == 1) check(vkQueueWaitIdle(context.queue()));
  }
  check(vkDeviceWaitIdle(context.device()));
  vkDestroyFence(context.device(), fence, nullptr);
}

// One command buffer: 1, token { 2, inner { 3 } }, 4, token { 5 }, 6.
VkCommandBuffer labelled(Context& context, const Doubler& doubler) {
  const VkCommandBuffer commands = context.begin_commands(0);
  doubler.dispatch(commands, 1);
  {
    const Label token(context, commands, "token 1");
    doubler.dispatch(commands, 2);
    const Label inner(context, commands, "inner");
    doubler.dispatch(commands, 3);
  }
  doubler.dispatch(commands, 4);
  {
    const Label token(context, commands, "token 2");
    doubler.dispatch(commands, 5);
  }
  doubler.dispatch(commands, 6);
  check(vkEndCommandBuffer(commands));
  return commands;
}

void labels(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = labelled(context, doubler);
  for (int i = 0; i < 2; ++i) {
    submit_one(context, commands);
    check(vkQueueWaitIdle(context.queue()));
  }
}

// The labels of the command buffer are inside of one of the queue.
void labels_in_a_label(Context& context) {
  const Doubler doubler(context);
  const auto begin =
      context.function<PFN_vkQueueBeginDebugUtilsLabelEXT>("vkQueueBeginDebugUtilsLabelEXT");
  const VkDebugUtilsLabelEXT label{VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, nullptr, "batch", {}};
  begin(context.queue(), &label);
  submit_one(context, labelled(context, doubler));
  check(vkQueueWaitIdle(context.queue()));
  context.function<PFN_vkQueueEndDebugUtilsLabelEXT>("vkQueueEndDebugUtilsLabelEXT")(
      context.queue());
}

// A label that one command buffer begins and another one ends: token { 1 | 2 }, 3.
void label_of_two_command_buffers(Context& context) {
  const Doubler doubler(context);
  const auto begin =
      context.function<PFN_vkCmdBeginDebugUtilsLabelEXT>("vkCmdBeginDebugUtilsLabelEXT");
  const auto end = context.function<PFN_vkCmdEndDebugUtilsLabelEXT>("vkCmdEndDebugUtilsLabelEXT");
  const VkDebugUtilsLabelEXT label{VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, nullptr, "token", {}};
  const VkCommandBuffer first = context.begin_commands();
  begin(first, &label);
  doubler.dispatch(first, 1);
  check(vkEndCommandBuffer(first));
  const VkCommandBuffer second = context.begin_commands();
  doubler.dispatch(second, 2);
  end(second);
  doubler.dispatch(second, 3);
  check(vkEndCommandBuffer(second));
  submit_one(context, first);
  submit_one(context, second);
  check(vkQueueWaitIdle(context.queue()));
}

// 1, then a secondary command buffer with token { 2 }, 3, then 4.
void label_of_a_secondary(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer secondary = context.begin_secondary();
  {
    const Label token(context, secondary, "token");
    doubler.dispatch(secondary, 2);
  }
  doubler.dispatch(secondary, 3);
  check(vkEndCommandBuffer(secondary));
  context.run([&](VkCommandBuffer commands) {
    doubler.dispatch(commands, 1);
    vkCmdExecuteCommands(commands, 1, &secondary);
    full_barrier(commands);
    doubler.dispatch(commands, 4);
  });
}

// A pass with a { 1 }, b { 2 }, 3 in it, and a pass with 4 after it.
template <Painter::Passes passes>
void label_in_a_pass(Context& context) {
  const Painter painter(context, passes);
  context.run([&](VkCommandBuffer commands) {
    for (const uint32_t first : {1u, 4u}) {
      if (passes == Painter::Passes::Objects) {
        painter.target().begin_render_pass(commands);
      } else {
        painter.target().begin(commands);
      }
      if (first == 1) {
        {
          const Label a(context, commands, "a");
          painter.draw(commands, 1);
        }
        {
          const Label b(context, commands, "b");
          painter.draw(commands, 2);
        }
        painter.draw(commands, 3);
      } else {
        painter.draw(commands, first);
      }
      if (passes == Painter::Passes::Objects) {
        painter.target().end_render_pass(commands);
      } else {
        painter.target().end(commands);
      }
    }
  });
}

}  // namespace

const Scenarios& frame_end_scenarios() {
  static const Scenarios scenarios = {
      {"marked", marked},
      {"marked_batches", marked_batches<0>},
      {"marked_batches_once", marked_batches<VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT>},
      {"marked_twice", marked_twice},
      {"presented", presented},
      {"marked_and_presented", marked_and_presented},
      {"marked_at_presents", marked_at_presents},
      {"enabled_and_unmarked", enabled_and_unmarked},
      {"rounds", rounds},
      {"labels", labels},
      {"labels_in_a_label", labels_in_a_label},
      {"label_of_two_command_buffers", label_of_two_command_buffers},
      {"label_of_a_secondary", label_of_a_secondary},
      {"label_in_a_render_pass", label_in_a_pass<Painter::Passes::Objects>},
      {"label_in_a_rendering", label_in_a_pass<Painter::Passes::Dynamic>},
  };
  return scenarios;
}

}  // namespace tally::test
