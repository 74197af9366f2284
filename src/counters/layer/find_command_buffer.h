// Looks up the state of a VkCommandBuffer, as every command does.
#pragma once

#include "vk/command_buffer_index.h"

namespace tally::counters {

class CommandBuffer;

// The command buffers of all devices. Each one is also in its device's table.
extern constinit vk::CommandBufferIndex<CommandBuffer> g_command_buffers;

// For those that g_command_buffers.find_near() does not find. Null for one the layer does not know.
CommandBuffer* find_far_command_buffer(VkCommandBuffer handle);

// Null for one the layer does not know.
inline CommandBuffer* find_command_buffer(VkCommandBuffer handle) {
  CommandBuffer* const near = g_command_buffers.find_near(handle);
  return near ? near : find_far_command_buffer(handle);
}

}  // namespace tally::counters
