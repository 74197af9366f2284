// What decides how vertices become primitives, where it is set in the command buffer.
#include "counters/entry/entry_points.h"

namespace tally::counters {
namespace {

const DeviceTable& next_of(const void* handle) { return find_device(handle)->next(); }

VKAPI_ATTR void VKAPI_CALL hook_set_topology(VkCommandBuffer commands,
                                             VkPrimitiveTopology topology) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->dynamic_facts().topology = topology;
  }
  next_of(commands).CmdSetPrimitiveTopology(commands, topology);
}

VKAPI_ATTR void VKAPI_CALL hook_set_discard(VkCommandBuffer commands, VkBool32 discard) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->dynamic_facts().rasterizer_discard = discard == VK_TRUE;
  }
  next_of(commands).CmdSetRasterizerDiscardEnable(commands, discard);
}

VKAPI_ATTR void VKAPI_CALL hook_set_patch(VkCommandBuffer commands, uint32_t points) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->dynamic_facts().patch_control_points = points;
  }
  next_of(commands).CmdSetPatchControlPointsEXT(commands, points);
}

VKAPI_ATTR void VKAPI_CALL hook_set_restart(VkCommandBuffer commands, VkBool32 restarts) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->dynamic_facts().restarts = restarts == VK_TRUE;
  }
  next_of(commands).CmdSetPrimitiveRestartEnable(commands, restarts);
}

uint32_t bytes_of(VkIndexType type) {
  switch (type) {
    case VK_INDEX_TYPE_UINT8_EXT:
      return 1;
    case VK_INDEX_TYPE_UINT16:
      return 2;
    default:
      return 4;
  }
}

void note_indices(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
                  VkIndexType type) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) return;
  state->count_command(CommandMetric::IndexBufferBinds);
  state->bind_indices({buffer, offset, buffer != VK_NULL_HANDLE ? size : 0, bytes_of(type)});
}

VKAPI_ATTR void VKAPI_CALL hook_bind_indices(VkCommandBuffer commands, VkBuffer buffer,
                                             VkDeviceSize offset, VkIndexType type) {
  note_indices(commands, buffer, offset, VK_WHOLE_SIZE, type);
  next_of(commands).CmdBindIndexBuffer(commands, buffer, offset, type);
}

VKAPI_ATTR void VKAPI_CALL hook_bind_indices_2(VkCommandBuffer commands, VkBuffer buffer,
                                               VkDeviceSize offset, VkDeviceSize size,
                                               VkIndexType type) {
  note_indices(commands, buffer, offset, size, type);
  next_of(commands).CmdBindIndexBuffer2(commands, buffer, offset, size, type);
}

}  // namespace

void add_draw_state_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kQueries));
  };
  add("vkCmdBindIndexBuffer", hook_bind_indices);
  add("vkCmdBindIndexBuffer2", hook_bind_indices_2);
  add("vkCmdBindIndexBuffer2KHR", hook_bind_indices_2);
  add("vkCmdSetPatchControlPointsEXT", hook_set_patch);
  add("vkCmdSetPrimitiveRestartEnable", hook_set_restart);
  add("vkCmdSetPrimitiveRestartEnableEXT", hook_set_restart);
  add("vkCmdSetPrimitiveTopology", hook_set_topology);
  add("vkCmdSetPrimitiveTopologyEXT", hook_set_topology);
  add("vkCmdSetRasterizerDiscardEnable", hook_set_discard);
  add("vkCmdSetRasterizerDiscardEnableEXT", hook_set_discard);
}

}  // namespace tally::counters
