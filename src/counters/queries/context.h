// Shared by the parts of a query recorder.
#pragma once

#include <vulkan/vulkan_core.h>

#include "counters/base/device_table.h"
#include "counters/queries/state.h"
#include "counters/shader/internal_pipelines.h"

namespace tally::counters {

inline constexpr VkAccessFlags kShaderAccess =
    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
inline constexpr VkAccessFlags kTransferAccess =
    VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
inline constexpr VkAccessFlags kAnyAccess = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

struct QueryContext {
  QueryState& state;
  const DeviceTable& next;
  VkCommandBuffer commands;  // where the layer records its own commands
  const bool& uses_heaps;    // the application uses descriptor heaps

  InternalCommands dispatches() const { return {commands, uses_heaps}; }

  // One half of a barrier.
  struct Scope {
    VkPipelineStageFlags stages;
    VkAccessFlags access;
  };
  void barrier(Scope from, Scope to) const {
    const VkMemoryBarrier memory{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = from.access,
                                 .dstAccessMask = to.access};
    next.CmdPipelineBarrier(commands, from.stages, to.stages, 0, 1, &memory, 0, nullptr, 0,
                            nullptr);
  }

  static constexpr Scope kAnything{VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess};
  static constexpr Scope kShader{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess};
  static constexpr Scope kTransfer{VK_PIPELINE_STAGE_TRANSFER_BIT, kTransferAccess};
};

}  // namespace tally::counters
