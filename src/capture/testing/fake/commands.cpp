// Recorded and submitted commands, and the counts that they add.
#include <cstdio>
#include <cstdlib>

#include "capture/testing/fake/fake.h"

namespace tally::fake {
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
  {
    const std::lock_guard lock(state().mutex);
    action(state().recorded[b], uint64_t{vertices} * copies);
  }
  device_table(b).CmdDraw(b, vertices, copies, first_vertex, first_instance);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatch(VkCommandBuffer b, uint32_t x, uint32_t y, uint32_t z) {
  {
    const std::lock_guard lock(state().mutex);
    action(state().recorded[b], uint64_t{x} * y * z);
  }
  device_table(b).CmdDispatch(b, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL CmdBindPipeline(VkCommandBuffer b, VkPipelineBindPoint point,
                                           VkPipeline pipeline) {
  {
    const std::lock_guard lock(state().mutex);
    const auto found = state().pipelines.find(pipeline);
    Recorded& recorded = state().recorded[b];
    recorded.stages = found == state().pipelines.end() ? 0 : found->second;
    if (std::getenv("FAKE_BINDS_COUNT") && recorded.stages != 0 && !recorded.active)
      broken("a pipeline with the flag was bound where nothing is counted");
  }
  device_table(b).CmdBindPipeline(b, point, pipeline);
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
  device_table(b).CmdPipelineBarrier(b, source, target, flags, count, barriers, buffer_count,
                                     buffers, image_count, images);
}

VKAPI_ATTR void VKAPI_CALL CmdExecuteCommands(VkCommandBuffer b, uint32_t count,
                                              const VkCommandBuffer* secondaries) {
  {
    const std::lock_guard lock(state().mutex);
    Recorded& recorded = state().recorded[b];
    if (recorded.active) broken("secondaries executed while active");
    recorded.secondaries.insert(recorded.secondaries.end(), secondaries, secondaries + count);
  }
  device_table(b).CmdExecuteCommands(b, count, secondaries);
}

VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer b,
                                                  const VkCommandBufferBeginInfo* info) {
  {
    const std::lock_guard lock(state().mutex);
    state().recorded[b] = {};
  }
  return device_table(b).BeginCommandBuffer(b, info);
}

VKAPI_ATTR VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer b) {
  {
    const std::lock_guard lock(state().mutex);
    if (state().recorded[b].active) broken("active at the end of the command buffer");
  }
  return device_table(b).EndCommandBuffer(b);
}

VKAPI_ATTR void VKAPI_CALL CmdBeginRenderPass(VkCommandBuffer b, const VkRenderPassBeginInfo* info,
                                              VkSubpassContents contents) {
  device_table(b).CmdBeginRenderPass(b, info, contents);
  const std::lock_guard lock(state().mutex);
  state().recorded[b].secondary_contents =
      contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS;
}

VKAPI_ATTR void VKAPI_CALL CmdNextSubpass(VkCommandBuffer b, VkSubpassContents contents) {
  device_table(b).CmdNextSubpass(b, contents);
  const std::lock_guard lock(state().mutex);
  state().recorded[b].secondary_contents =
      contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS;
}

VKAPI_ATTR void VKAPI_CALL CmdEndRenderPass(VkCommandBuffer b) {
  device_table(b).CmdEndRenderPass(b);
  const std::lock_guard lock(state().mutex);
  state().recorded[b].secondary_contents = false;
}

VKAPI_ATTR void VKAPI_CALL CmdBeginRendering(VkCommandBuffer b, const VkRenderingInfo* info) {
  device_table(b).CmdBeginRendering(b, info);
  const std::lock_guard lock(state().mutex);
  Recorded& recorded = state().recorded[b];
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
  device_table(b).CmdEndRendering(b);
  const std::lock_guard lock(state().mutex);
  Recorded& recorded = state().recorded[b];
  recorded.secondary_contents = false;
  recorded.between_suspended = recorded.suspending;
}

// Each execution of a command buffer with instrumented commands adds a byte to the file that the
// variable names.
void note_counted(const Recorded& recorded) {
  if (recorded.counts.empty()) return;
  const char* path = std::getenv("FAKE_INSTRUMENTATION_COUNTED");
  FILE* file = path ? std::fopen(path, "a") : nullptr;
  if (!file) return;
  std::fputc('x', file);
  std::fclose(file);
}

// A command of no registry.
VKAPI_ATTR void VKAPI_CALL CmdUnknownTALLY(VkCommandBuffer) {}

}  // namespace

void run(VkCommandBuffer b) {
  note_counted(state().recorded[b]);
  for (const Count& count : state().recorded[b].counts) {
    if (!state().objects.contains(count.object)) {
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
  for (const VkCommandBuffer secondary : state().recorded[b].secondaries) run(secondary);
}

void add_commands(Hooks& device) {
  device.push_back(vk::hook("vkCmdUnknownTALLY", CmdUnknownTALLY));
  device.push_back(vk::hook("vkCmdDraw", CmdDraw));
  device.push_back(vk::hook("vkCmdDispatch", CmdDispatch));
  device.push_back(vk::hook("vkCmdBindPipeline", CmdBindPipeline));
  device.push_back(vk::hook("vkCmdPipelineBarrier", CmdPipelineBarrier));
  device.push_back(vk::hook("vkCmdExecuteCommands", CmdExecuteCommands));
  device.push_back(vk::hook("vkBeginCommandBuffer", BeginCommandBuffer));
  device.push_back(vk::hook("vkEndCommandBuffer", EndCommandBuffer));
  device.push_back(vk::hook("vkCmdBeginRenderPass", CmdBeginRenderPass));
  device.push_back(vk::hook("vkCmdNextSubpass", CmdNextSubpass));
  device.push_back(vk::hook("vkCmdEndRenderPass", CmdEndRenderPass));
  device.push_back(vk::hook("vkCmdBeginRendering", CmdBeginRendering));
  device.push_back(vk::hook("vkCmdEndRendering", CmdEndRendering));
}

}  // namespace tally::fake
