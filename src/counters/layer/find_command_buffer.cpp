#include "counters/layer/find_command_buffer.h"

#include "counters/layer/device.h"

namespace tally::counters {

constinit vk::CommandBufferIndex<CommandBuffer> g_command_buffers;

CommandBuffer* find_far_command_buffer(VkCommandBuffer handle) {
  if (CommandBuffer* const far = g_command_buffers.find_far(handle)) return far;
  Device* device = find_device(handle);
  if (!device || !device->state()) return nullptr;
  return device->state()->command_buffers.find(handle).get();
}

}  // namespace tally::counters
