// Recording of command buffers, i.e. query events and marks (answers.h), and their submission.
#include <cstdlib>
#include <span>

#include "stand_in/performance/answers.h"
#include "stand_in/performance/driver.h"
#include "vk/chain.h"

namespace tally::test::performance {
namespace {

constexpr VkStructureType kPass = VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR;

VKAPI_ATTR VkResult VKAPI_CALL begin_commands(VkCommandBuffer commands,
                                              const VkCommandBufferBeginInfo* info) {
  Device& device = device_of(commands);
  {
    const std::lock_guard lock(device.mutex);
    device.events.erase(commands);
    device.marked.erase(commands);
  }
  return device.next.BeginCommandBuffer(commands, info);
}

VKAPI_ATTR void VKAPI_CALL begin_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t query,
                                       VkQueryControlFlags flags) {
  Device& device = device_of(commands);
  if (Pool* known = device.find(pool)) return device.note(commands, {Event::kBegin, known, query});
  ++device.uses_of_queries;
  device.next.CmdBeginQuery(commands, pool, query, flags);
}

VKAPI_ATTR void VKAPI_CALL end_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t query) {
  Device& device = device_of(commands);
  if (Pool* known = device.find(pool)) return device.note(commands, {Event::kEnd, known, query});
  device.next.CmdEndQuery(commands, pool, query);
}

VKAPI_ATTR void VKAPI_CALL reset_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t first,
                                       uint32_t count) {
  Device& device = device_of(commands);
  if (Pool* known = device.find(pool)) {
    return device.note(commands, {Event::kReset, known, first, count});
  }
  ++device.uses_of_queries;
  device.next.CmdResetQueryPool(commands, pool, first, count);
}

VKAPI_ATTR void VKAPI_CALL copy_results(VkCommandBuffer commands, VkQueryPool pool, uint32_t first,
                                        uint32_t count, VkBuffer target, VkDeviceSize offset,
                                        VkDeviceSize stride, VkQueryResultFlags flags) {
  Device& device = device_of(commands);
  const Pool* known = device.find(pool);
  if (!known) {
    ++device.uses_of_queries;
    return device.next.CmdCopyQueryPoolResults(commands, pool, first, count, target, offset, stride,
                                               flags);
  }
  const VkDeviceSize bytes = known->result_bytes();
  for (uint32_t i = 0; i < count; ++i) {
    const VkBufferCopy region{(first + i) * bytes, offset + i * stride, bytes};
    device.next.CmdCopyBuffer(commands, known->buffer(), target, 1, &region);
  }
}

VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                         VkPipeline pipeline) {
  Device& device = device_of(commands);
  device.note(commands, {Event::kOther});
  device.next.CmdBindPipeline(commands, point, pipeline);
  const std::lock_guard lock(device.mutex);
  if (point <= VK_PIPELINE_BIND_POINT_COMPUTE) device.marked[commands].pipelines[point] = pipeline;
}

VKAPI_ATTR void VKAPI_CALL push_constants(VkCommandBuffer commands, VkPipelineLayout layout,
                                          VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                                          const void* values) {
  Device& device = device_of(commands);
  device.next.CmdPushConstants(commands, layout, stages, offset, size, values);
  if (offset != 0 || size != sizeof(uint32_t)) return;
  const std::lock_guard lock(device.mutex);
  device.marked[commands].layout = layout;
  device.marked[commands].stages = stages;
}

void mark(Device& device, VkCommandBuffer commands, VkPipelineBindPoint point) {
  if (!std::getenv(kMarks)) return;
  const std::lock_guard lock(device.mutex);
  const Marked& marked = device.marked[commands];
  const uint32_t value = mark_of(marked.pipelines[point]);
  if (marked.stages == 0) return;
  device.next.CmdPushConstants(commands, marked.layout, marked.stages, 0, sizeof value, &value);
}

VKAPI_ATTR void VKAPI_CALL write_timestamp(VkCommandBuffer commands, VkPipelineStageFlagBits stage,
                                           VkQueryPool pool, uint32_t query) {
  Device& device = device_of(commands);
  device.note(commands, {Event::kOther});
  device.next.CmdWriteTimestamp(commands, stage, pool, query);
}

VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  Device& device = device_of(commands);
  device.note(commands, {Event::kDispatch});
  mark(device, commands, VK_PIPELINE_BIND_POINT_COMPUTE);
  device.next.CmdDispatch(commands, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL draw(VkCommandBuffer commands, uint32_t vertices, uint32_t instances,
                                uint32_t first_vertex, uint32_t first_instance) {
  Device& device = device_of(commands);
  mark(device, commands, VK_PIPELINE_BIND_POINT_GRAPHICS);
  device.next.CmdDraw(commands, vertices, instances, first_vertex, first_instance);
}

VKAPI_ATTR void VKAPI_CALL execute(VkCommandBuffer commands, uint32_t count,
                                   const VkCommandBuffer* secondaries) {
  Device& device = device_of(commands);
  device.next.CmdExecuteCommands(commands, count, secondaries);
  const std::lock_guard lock(device.mutex);
  for (uint32_t i = 0; i < count; ++i) {
    const std::vector<Event> events = device.events[secondaries[i]];
    auto& target = device.events[commands];
    target.insert(target.end(), events.begin(), events.end());
  }
}

uint32_t pass_of(const void* chain) {
  const auto* info = vk::find_in_chain<VkPerformanceQuerySubmitInfoKHR>(chain, kPass);
  return info ? info->counterPassIndex : 0;
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits,
                                      VkFence fence) {
  Device& device = device_of(queue);
  for (const VkSubmitInfo& one : std::span(submits, count)) {
    for (uint32_t i = 0; i < one.commandBufferCount; ++i) {
      device.submit(one.pCommandBuffers[i], pass_of(one.pNext));
    }
  }
  return device.next.QueueSubmit(queue, count, submits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* submits,
                                       VkFence fence) {
  Device& device = device_of(queue);
  for (const VkSubmitInfo2& one : std::span(submits, count)) {
    for (uint32_t i = 0; i < one.commandBufferInfoCount; ++i) {
      device.submit(one.pCommandBufferInfos[i].commandBuffer, pass_of(one.pNext));
    }
  }
  return device.next.QueueSubmit2(queue, count, submits, fence);
}

}  // namespace

void add_command_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkBeginCommandBuffer", begin_commands));
  hooks.push_back(vk::hook("vkCmdBeginQuery", begin_query));
  hooks.push_back(vk::hook("vkCmdBindPipeline", bind_pipeline));
  hooks.push_back(vk::hook("vkCmdWriteTimestamp", write_timestamp));
  hooks.push_back(vk::hook("vkCmdCopyQueryPoolResults", copy_results));
  hooks.push_back(vk::hook("vkCmdDispatch", dispatch));
  hooks.push_back(vk::hook("vkCmdDraw", draw));
  hooks.push_back(vk::hook("vkCmdEndQuery", end_query));
  hooks.push_back(vk::hook("vkCmdExecuteCommands", execute));
  hooks.push_back(vk::hook("vkCmdPushConstants", push_constants));
  hooks.push_back(vk::hook("vkCmdResetQueryPool", reset_query));
  hooks.push_back(vk::hook("vkQueueSubmit", submit));
  hooks.push_back(vk::hook("vkQueueSubmit2", submit2));
  hooks.push_back(vk::hook("vkQueueSubmit2KHR", submit2));
}

}  // namespace tally::test::performance
