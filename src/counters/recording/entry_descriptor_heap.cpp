// VK_EXT_descriptor_heap: commands that bind heaps and update push data. They invalidate descriptor
// sets and push constants, and the commands that set those invalidate heaps and push data.
#include "counters/layer/entry_points.h"

namespace tally::counters {
namespace {

CommandBuffer* note(VkCommandBuffer commands, CommandMetric metric, DescriptorKind kind) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) return nullptr;
  state->count_command(metric);
  state->bound().set_descriptors(kind);
  return state;
}

VKAPI_ATTR void VKAPI_CALL hook_bind_resource_heap(VkCommandBuffer commands,
                                                   const VkBindHeapInfoEXT* info) {
  note(commands, CommandMetric::DescriptorBinds, DescriptorKind::Heaps);
  next_of(commands).CmdBindResourceHeapEXT(commands, info);
}

VKAPI_ATTR void VKAPI_CALL hook_bind_sampler_heap(VkCommandBuffer commands,
                                                  const VkBindHeapInfoEXT* info) {
  note(commands, CommandMetric::DescriptorBinds, DescriptorKind::Heaps);
  next_of(commands).CmdBindSamplerHeapEXT(commands, info);
}

VKAPI_ATTR void VKAPI_CALL hook_push_data(VkCommandBuffer commands, const VkPushDataInfoEXT* info) {
  CommandBuffer* state = note(commands, CommandMetric::ConstantUpdates, DescriptorKind::Heaps);
  if (state) state->bound().push_data(*info);
  next_of(commands).CmdPushDataEXT(commands, info);
}

// Counted are the commands that set the offsets in the buffers.
VKAPI_ATTR void VKAPI_CALL hook_bind_descriptor_buffers(
    VkCommandBuffer commands, uint32_t count, const VkDescriptorBufferBindingInfoEXT* infos) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->bound().set_descriptors(DescriptorKind::Sets);
  }
  next_of(commands).CmdBindDescriptorBuffersEXT(commands, count, infos);
}

}  // namespace

void add_descriptor_heap_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kHeaps));
  };
  add("vkCmdBindDescriptorBuffersEXT", hook_bind_descriptor_buffers);
  add("vkCmdBindResourceHeapEXT", hook_bind_resource_heap);
  add("vkCmdBindSamplerHeapEXT", hook_bind_sampler_heap);
  add("vkCmdPushDataEXT", hook_push_data);
}

}  // namespace tally::counters
