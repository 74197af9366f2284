// All state of a device on which a feature of the layer is enabled. Members are destroyed from the
// last to the first: command buffers return their memory before the pools go.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <vector>

#include "counters/base/physical_device.h"
#include "counters/features/instrumentation/state.h"
#include "counters/features/queries/state.h"
#include "counters/features/regions/state.h"
#include "counters/memory/device_memory.h"
#include "counters/pipelines/object_state.h"
#include "vk/handles.h"

namespace tally::counters {

class CommandBuffer;

// A VkCommandPool and the command buffers that were allocated from it.
struct CommandPool {
  bool is_protected = false;
  bool computes = false;                 // its queue family has compute operations
  std::vector<VkCommandBuffer> buffers;  // externally synchronized, as the pool is
};

struct DeviceState {
  DeviceState(const DeviceContext& device_context, const MemoryContext& memory_context,
              const PipelineNeeds& needs, const LayoutRules& rules, InstrumenterOptions options,
              const ShardTable& shards, size_t compile_threads)
      : context(device_context),
        memory(memory_context),
        lane_sets(options.pass.sites.memory_lanes == 0
                      ? nullptr
                      : make_lane_sets(memory.host_context, options.pass.sites.lane_sets)),
        objects(context, needs, rules, options, compile_threads),
        instrumentation(needs.instrumentation, shards) {}

  const DeviceContext context;
  DeviceMemory memory;
  std::unique_ptr<Chunk> lane_sets;  // null unless subgroups are virtual
  ObjectState objects;
  InstrumentationState instrumentation;
  std::unique_ptr<RegionState> regions;  // null where counters by region are not enabled
  std::unique_ptr<QueryState> queries;   // null where no query is emulated

  vk::HandleMap<VkCommandPool, std::shared_ptr<CommandPool>> command_pools;
  vk::HandleMap<VkCommandBuffer, std::shared_ptr<CommandBuffer>> command_buffers;
};

}  // namespace tally::counters
