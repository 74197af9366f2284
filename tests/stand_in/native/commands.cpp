// Recorded and submitted commands, and the counts that they add.
#include <cstdlib>

#include "stand_in/native/driver.h"
#include "vk/chain.h"

namespace tally::test::native {
namespace {

void action(Recorded& recorded, uint64_t times) {
  recorded.used = true;
  if (!recorded.active) return;
  const uint32_t result = recorded.active->next_result++;
  if (recorded.stages != 0)
    recorded.counts.push_back({recorded.active, result, recorded.stages, times});
}

VKAPI_ATTR void VKAPI_CALL CmdDraw(VkCommandBuffer b, uint32_t vertices, uint32_t copies,
                                   uint32_t first_vertex, uint32_t first_instance) {
  Device& device = device_of(b);
  {
    const std::lock_guard lock(device.mutex);
    action(device.recorded[b], uint64_t{vertices} * copies);
  }
  device.next.CmdDraw(b, vertices, copies, first_vertex, first_instance);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatch(VkCommandBuffer b, uint32_t x, uint32_t y, uint32_t z) {
  Device& device = device_of(b);
  {
    const std::lock_guard lock(device.mutex);
    action(device.recorded[b], uint64_t{x} * y * z);
  }
  device.next.CmdDispatch(b, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL CmdBindPipeline(VkCommandBuffer b, VkPipelineBindPoint point,
                                           VkPipeline pipeline) {
  Device& device = device_of(b);
  {
    const std::lock_guard lock(device.mutex);
    const auto found = device.pipelines.find(pipeline);
    Recorded& recorded = device.recorded[b];
    recorded.stages = found == device.pipelines.end() ? 0 : found->second;
    if (std::getenv("TALLY_TEST_NATIVE_BINDS_COUNT") && recorded.stages != 0 && !recorded.active)
      broken("a pipeline with the flag was bound where nothing is counted");
  }
  device.next.CmdBindPipeline(b, point, pipeline);
}

VKAPI_ATTR void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer b, VkPipelineStageFlags source,
                                              VkPipelineStageFlags target, VkDependencyFlags flags,
                                              uint32_t count, const VkMemoryBarrier* barriers,
                                              uint32_t buffer_count,
                                              const VkBufferMemoryBarrier* buffers,
                                              uint32_t image_count,
                                              const VkImageMemoryBarrier* images) {
  for (uint32_t i = 0; i < count; ++i) {
    const bool graphics = (barriers[i].srcAccessMask & VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT) != 0;
    if (graphics && compute_only()) broken("an access that a queue for compute does not support");
  }
  device_of(b).next.CmdPipelineBarrier(b, source, target, flags, count, barriers, buffer_count,
                                       buffers, image_count, images);
}

VKAPI_ATTR void VKAPI_CALL CmdExecuteCommands(VkCommandBuffer b, uint32_t count,
                                              const VkCommandBuffer* secondaries) {
  Device& device = device_of(b);
  {
    const std::lock_guard lock(device.mutex);
    Recorded& recorded = device.recorded[b];
    if (recorded.active) broken("secondaries executed while active");
    recorded.secondaries.insert(recorded.secondaries.end(), secondaries, secondaries + count);
  }
  device.next.CmdExecuteCommands(b, count, secondaries);
}

VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer b,
                                                  const VkCommandBufferBeginInfo* info) {
  Device& device = device_of(b);
  {
    const std::lock_guard lock(device.mutex);
    device.recorded[b] = {};
  }
  return device.next.BeginCommandBuffer(b, info);
}

VKAPI_ATTR VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer b) {
  Device& device = device_of(b);
  {
    const std::lock_guard lock(device.mutex);
    if (device.recorded[b].active) broken("active at the end of the command buffer");
  }
  return device.next.EndCommandBuffer(b);
}

VKAPI_ATTR void VKAPI_CALL CmdBeginRenderPass(VkCommandBuffer b, const VkRenderPassBeginInfo* info,
                                              VkSubpassContents contents) {
  Device& device = device_of(b);
  device.next.CmdBeginRenderPass(b, info, contents);
  const std::lock_guard lock(device.mutex);
  device.recorded[b].secondary_contents = contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS;
}

VKAPI_ATTR void VKAPI_CALL CmdNextSubpass(VkCommandBuffer b, VkSubpassContents contents) {
  Device& device = device_of(b);
  device.next.CmdNextSubpass(b, contents);
  const std::lock_guard lock(device.mutex);
  device.recorded[b].secondary_contents = contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS;
}

VKAPI_ATTR void VKAPI_CALL CmdEndRenderPass(VkCommandBuffer b) {
  Device& device = device_of(b);
  device.next.CmdEndRenderPass(b);
  const std::lock_guard lock(device.mutex);
  device.recorded[b].secondary_contents = false;
}

VKAPI_ATTR void VKAPI_CALL CmdBeginRendering(VkCommandBuffer b, const VkRenderingInfo* info) {
  Device& device = device_of(b);
  device.next.CmdBeginRendering(b, info);
  const std::lock_guard lock(device.mutex);
  Recorded& recorded = device.recorded[b];
  recorded.secondary_contents =
      (info->flags & VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT) != 0;
  const bool resumes = (info->flags & VK_RENDERING_RESUMING_BIT) != 0;
  if (resumes && !recorded.used && recorded.began_unused)
    broken("begin between the render passes that two command buffers suspend and resume");
  recorded.used = true;
  recorded.suspending = (info->flags & VK_RENDERING_SUSPENDING_BIT) != 0;
  recorded.between_suspended = false;
}

VKAPI_ATTR void VKAPI_CALL CmdEndRendering(VkCommandBuffer b) {
  Device& device = device_of(b);
  device.next.CmdEndRendering(b);
  const std::lock_guard lock(device.mutex);
  Recorded& recorded = device.recorded[b];
  recorded.secondary_contents = false;
  recorded.between_suspended = recorded.suspending;
}

// A command of no registry.
VKAPI_ATTR void VKAPI_CALL CmdUnknownTALLY(VkCommandBuffer) {}

// --- submissions, presents, and the ends of frames that the application marks

// Adds what the command buffer counts. With the mutex held.
void run(Device& device, VkCommandBuffer b) {
  Recorded& recorded = device.recorded[b];
  if (!recorded.counts.empty()) note("TALLY_TEST_NATIVE_COUNTED");
  for (const Count& count : recorded.counts) {
    if (!device.objects.contains(count.object)) {
      broken("submitted with a destroyed object");
      continue;
    }
    for (uint32_t stage = 1; stage != 0; stage <<= 1) {
      if ((count.stages & stage) == 0) continue;
      for (uint32_t block = 0; block < kBlocks; ++block) {
        const uint64_t times = block == 0 ? count.times : block == 1 ? count.times * 2 : 0;
        count.object->executions[{count.result, stage, block}] += times;
      }
    }
  }
  for (const VkCommandBuffer secondary : recorded.secondaries) run(device, secondary);
}

// The driver below lacks the extension.
template <typename Info>
class WithoutBoundaries {
 public:
  WithoutBoundaries(uint32_t count, const Info* infos) : infos_(infos, infos + count) {
    for (Info& info : infos_) {
      const auto* boundary =
          vk::find_in_chain<VkFrameBoundaryEXT>(info.pNext, VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT);
      if (!boundary) continue;
      note_end(*boundary);
      vk::ChainCopy& chain = chains_.emplace_back(info.pNext);
      chain.remove(VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT);
      info.pNext = chain.head();
    }
  }
  const Info* get() const { return infos_.data(); }

 private:
  static void note_end(const VkFrameBoundaryEXT& boundary) {
    if (!has_boundaries()) return broken("a frame boundary reaches a driver without the extension");
    if ((boundary.flags & VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT) != 0) {
      note("TALLY_TEST_NATIVE_FRAME_ENDS");
    }
  }

  std::vector<Info> infos_;
  std::vector<vk::ChainCopy> chains_;
};

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                           VkFence fence) {
  Device& device = device_of(queue);
  {
    const std::lock_guard lock(device.mutex);
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t j = 0; j < infos[i].commandBufferCount; ++j)
        run(device, infos[i].pCommandBuffers[j]);
    }
  }
  const WithoutBoundaries below(count, infos);
  return device.next.QueueSubmit(queue, count, below.get(), fence);
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit2(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo2* infos, VkFence fence) {
  Device& device = device_of(queue);
  {
    const std::lock_guard lock(device.mutex);
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t j = 0; j < infos[i].commandBufferInfoCount; ++j)
        run(device, infos[i].pCommandBufferInfos[j].commandBuffer);
    }
  }
  const WithoutBoundaries below(count, infos);
  return device.next.QueueSubmit2(queue, count, below.get(), fence);
}

// No test binds any memory, and not every queue of a driver may.
VKAPI_ATTR VkResult VKAPI_CALL QueueBindSparse(VkQueue, uint32_t count,
                                               const VkBindSparseInfo* infos, VkFence) {
  const WithoutBoundaries below(count, infos);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateSwapchainKHR(VkDevice, const VkSwapchainCreateInfoKHR*,
                                                  const VkAllocationCallbacks*,
                                                  VkSwapchainKHR* swapchain) {
  *swapchain = (VkSwapchainKHR)1;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL DestroySwapchainKHR(VkDevice, VkSwapchainKHR,
                                               const VkAllocationCallbacks*) {}

VKAPI_ATTR VkResult VKAPI_CALL QueuePresentKHR(VkQueue, const VkPresentInfoKHR* info) {
  const WithoutBoundaries below(1, info);
  return VK_SUCCESS;
}

}  // namespace

void add_commands(Hooks& hooks) {
  hooks.push_back(vk::hook("vkCmdUnknownTALLY", CmdUnknownTALLY));
  hooks.push_back(vk::hook("vkCmdDraw", CmdDraw));
  hooks.push_back(vk::hook("vkCmdDispatch", CmdDispatch));
  hooks.push_back(vk::hook("vkCmdBindPipeline", CmdBindPipeline));
  hooks.push_back(vk::hook("vkCmdPipelineBarrier", CmdPipelineBarrier));
  hooks.push_back(vk::hook("vkCmdExecuteCommands", CmdExecuteCommands));
  hooks.push_back(vk::hook("vkBeginCommandBuffer", BeginCommandBuffer));
  hooks.push_back(vk::hook("vkEndCommandBuffer", EndCommandBuffer));
  hooks.push_back(vk::hook("vkCmdBeginRenderPass", CmdBeginRenderPass));
  hooks.push_back(vk::hook("vkCmdNextSubpass", CmdNextSubpass));
  hooks.push_back(vk::hook("vkCmdEndRenderPass", CmdEndRenderPass));
  hooks.push_back(vk::hook("vkCmdBeginRendering", CmdBeginRendering));
  hooks.push_back(vk::hook("vkCmdEndRendering", CmdEndRendering));
  hooks.push_back(vk::hook("vkQueueSubmit", QueueSubmit));
  hooks.push_back(vk::hook("vkQueueSubmit2", QueueSubmit2));
  hooks.push_back(vk::hook("vkQueueBindSparse", QueueBindSparse));
  hooks.push_back(vk::hook("vkCreateSwapchainKHR", CreateSwapchainKHR));
  hooks.push_back(vk::hook("vkDestroySwapchainKHR", DestroySwapchainKHR));
  hooks.push_back(vk::hook("vkQueuePresentKHR", QueuePresentKHR));
}

}  // namespace tally::test::native
