// Occlusion queries of the driver, for draws whose samples no shader can count
// (pipelines/pipeline_contents.h). Thread-safe.
//
// All queries are reset whenever no command that uses them is pending: a recording resets each
// after it has copied its result.
#pragma once

#include <tally/vulkan_newest.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/base/physical_device.h"
#include "counters/features/performance/clock.h"
#include "counters/features/performance/counters.h"
#include "counters/features/queries/pool.h"
#include "counters/memory/device_memory.h"
#include "counters/shaders/internal_objects.h"
#include "counters/shaders/program.h"
#include "vk/handles.h"

namespace tally::counters {

// State of a device for which the layer emulates queries.

struct QueryState {
  QueryState(const DeviceContext& device_context, DeviceMemory& device_memory,
             const PushOffsets& offsets, const EmulatedQueries& emulated_types)
      : device(device_context),
        memory(device_memory),
        emulated(emulated_types),
        programs(device.handle, device.next, offsets, device.gpu.subgroup_size) {}

  const DeviceContext& device;
  DeviceMemory& memory;
  const EmulatedQueries emulated;
  QueryPrograms programs;
  // Null where occlusion queries are not emulated, or the driver lacks hostQueryReset.
  std::unique_ptr<OwnQueries> occlusion;
  // Null where the driver has timestamps.
  std::unique_ptr<DeviceClock> clock;
  // Sizes of buffers that may be bound as index or transform feedback buffers without a size.
  vk::HandleMap<VkBuffer, VkDeviceSize> buffer_sizes;
  // Set with the first pool of transform feedback queries: the layer then counts transform
  // feedback.
  std::atomic<bool> counts_feedback = false;
  vk::HandleMap<VkQueryPool, std::shared_ptr<QueryPool>> pools;
  // Pools of the driver that have only performance counters of the driver.
  vk::HandleMap<VkQueryPool, bool> driver_pools;
  // Pools of the driver whose statistics include compute shader invocations.
  vk::HandleMap<VkQueryPool, bool> driver_statistics;
  IntelConfigurations intel_configurations;
};

// Conditional rendering that began outside of render passes. It would discard dispatches of the
// layer too, so it is interrupted for them.

struct QueryState;

class Condition {
 public:
  // How it began: nothing, or the command's info.
  using Info = std::variant<std::monostate, VkConditionalRenderingBeginInfoEXT,
                            VkConditionalRenderingBeginInfo2EXT>;

  template <typename BeginInfo>
  void begin(BeginInfo info) {
    info.pNext = nullptr;
    info_ = info;
  }
  void end() { info_ = {}; }

  // Conditional rendering is off for the lifetime of this object.
  class Interruption {
   public:
    Interruption(const Condition& condition, const DeviceTable& next, VkCommandBuffer commands)
        : info_(condition.info_), next_(next), commands_(commands) {
      if (info_.index() != 0) next_.CmdEndConditionalRenderingEXT(commands_);
    }
    ~Interruption() {
      if (const auto* info = std::get_if<VkConditionalRenderingBeginInfoEXT>(&info_)) {
        next_.CmdBeginConditionalRenderingEXT(commands_, info);
      } else if (const auto* newer = std::get_if<VkConditionalRenderingBeginInfo2EXT>(&info_)) {
        next_.CmdBeginConditionalRendering2EXT(commands_, newer);
      }
    }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

   private:
    const Info& info_;
    const DeviceTable& next_;
    VkCommandBuffer commands_;
  };

 private:
  Info info_;
};

// Counts of commands that the host makes while they are recorded: how many of each kind there are,
// and what their arguments say.

struct CommandTotals {
  std::array<uint64_t, kCommandMetrics> metrics{};
  uint64_t errors = 0;  // commands that a query should have counted and did not
  // For occlusion queries, in addition: fewer where the driver counts samples of such commands,
  // more where nothing counts them exactly.
  int64_t sample_errors = 0;
  uint64_t unread = 0;  // commands whose arguments are not known
  // VK_INTEL_performance_query: the last marker of each kind.
  std::optional<uint64_t> marker;
  std::optional<uint32_t> stream_marker;

  void count(CommandMetric metric, uint64_t number) {
    metrics[static_cast<size_t>(metric)] += number;
  }
  uint64_t of(CommandMetric metric) const { return metrics[static_cast<size_t>(metric)]; }
  // Adds the totals of an executed secondary command buffer.
  void add(const CommandTotals& executed) {
    for (size_t i = 0; i < kCommandMetrics; ++i) metrics[i] += executed.metrics[i];
    errors += executed.errors;
    sample_errors += executed.sample_errors;
    unread += executed.unread;
    if (executed.marker) marker = executed.marker;
    if (executed.stream_marker) stream_marker = executed.stream_marker;
  }
};

// Shared by the parts of a query recorder.

inline constexpr VkAccessFlags kShaderAccess =
    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
inline constexpr VkAccessFlags kTransferAccess =
    VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
inline constexpr VkAccessFlags kAnyAccess = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

struct QueryContext {
  QueryState& state;
  const DeviceTable& next;
  VkCommandBuffer commands;           // where the layer records its own commands
  const DescriptorMode& descriptors;  // what the application uses

  InternalCommands dispatches() const { return {commands, descriptors.uses_heaps()}; }

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
