// Query pools that the layer emulates, and the commands on them. Calls for pools of the driver are
// passed on.

#include <optional>

#include "counters/features/queries/indirect_counts.h"
#include "counters/layer/entry_points.h"
#include "counters/recording/command_buffer.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

std::shared_ptr<QueryPool> find_pool(const void* handle, VkQueryPool pool) {
  QueryState* queries = find_device(handle)->queries();
  return queries ? queries->pools.find(pool) : nullptr;
}

// A small pool of the driver, whose handle the emulated pool gets.
VkQueryPoolCreateInfo handle_info() {
  return {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
          .queryType = VK_QUERY_TYPE_OCCLUSION,
          .queryCount = 1};
}

VkResult unknown_counters(const Device& device) {
  device.messages().misuse("VUID-VkQueryPoolPerformanceCreateInfoKHR-pCounterIndices-03321",
                           VK_OBJECT_TYPE_DEVICE, device.handle_bits(),
                           "vkCreateQueryPool(): VkQueryPoolPerformanceCreateInfoKHR is missing, "
                           "or names a counter that its queue family does not have");
  return VK_ERROR_UNKNOWN;
}

// A driver without video encoders may not know the type.
VkResult no_video_encoder(const Device& device) {
  device.messages().misuse("VUID-VkQueryPoolCreateInfo-queryType-parameter", VK_OBJECT_TYPE_DEVICE,
                           device.handle_bits(),
                           "vkCreateQueryPool(): video encode feedback is not supported: the "
                           "driver lacks VK_KHR_video_encode_queue");
  return VK_ERROR_FEATURE_NOT_PRESENT;
}

// How the counters of a performance query pool are split between layer and driver; nothing for
// other pools.
std::optional<CounterSplit> split_of(const Device& device, const VkQueryPoolCreateInfo& info) {
  const auto* wanted = vk::find_in_chain<VkQueryPoolPerformanceCreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR);
  if (!wanted || info.queryType != VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR) return std::nullopt;
  return CounterSplit(device.gpu(), *wanted);
}

// VK_QUERY_POOL_CREATE_RESET_BIT_KHR, newer than the headers of Debian 12.
constexpr VkQueryPoolCreateFlags kCreateReset = 0x1;

VkResult add_driver_pool(const Device& device, QueryPool& pool, CounterSplit split) {
  const DriverNeeds needs =
      driver_needs(device.instance().next(), device.gpu(), split, pool.needs_shaders());
  auto driver =
      std::make_unique<DriverPool>(device.handle(), device.next(), std::move(split), needs);
  const VkResult result = driver->initialize(pool.count(), pool.kind().flags);
  pool.set_driver(std::move(driver));
  return result;
}

void note_driver_pool(QueryState& queries, VkQueryPool handle, const VkQueryPoolCreateInfo& info,
                      bool performance) {
  const bool statistics = info.queryType == VK_QUERY_TYPE_PIPELINE_STATISTICS &&
                          counts_dispatches(info.pipelineStatistics);
  if (performance) queries.driver_pools.insert(handle, true);
  if (statistics) queries.driver_statistics.insert(handle, true);
}

VkResult create_pool(Device& device, const VkQueryPoolCreateInfo& info,
                     const VkAllocationCallbacks* allocator, VkQueryPool* handle) {
  const DeviceTable& next = device.next();
  if (InvocationQueries* ours =
          device.state() ? device.state()->instrumentation.invocations.get() : nullptr;
      ours && info.queryType == VK_QUERY_TYPE_PIPELINE_STATISTICS) {
    ours->application_queries = true;
  }
  QueryState* queries = device.queries();
  if (info.queryType == kVideoEncodeFeedback &&
      !device.gpu().has_extension("VK_KHR_video_encode_queue")) {
    return no_video_encoder(device);
  }
  auto split = split_of(device, info);
  const bool drivers_alone = split && split->ours.empty() && !split->drivers.empty();
  if (!queries || !queries->emulated.emulates(info) || drivers_alone) {
    const VkResult result = next.CreateQueryPool(device.handle(), &info, allocator, handle);
    if (queries && result == VK_SUCCESS) note_driver_pool(*queries, *handle, info, drivers_alone);
    return result;
  }
  if (info.queryType == VK_QUERY_TYPE_TIMESTAMP && !queries->clock) {
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  VkResult result = VK_SUCCESS;
  auto kind = query_kind(info, device.gpu(), device.instance().options());
  if (!kind) return unknown_counters(device);
  kind->flags = info.flags & kCreateReset;
  auto pool = QueryPool::create(device.state()->memory.host_context, std::move(*kind),
                                info.queryCount, result);
  if (pool && split && !split->drivers.empty()) {
    result = add_driver_pool(device, *pool, std::move(*split));
  }
  if (result != VK_SUCCESS) {
    device.messages().notice(
        "TALLY-no-query-pool", VK_OBJECT_TYPE_DEVICE, device.handle_bits(),
        "vkCreateQueryPool(): the pool cannot be emulated: " + vk::take_own_failure(result).text());
    return result;
  }
  const VkQueryPoolCreateInfo native = handle_info();
  result = next.CreateQueryPool(device.handle(), &native, allocator, handle);
  if (result != VK_SUCCESS) return result;
  if (info.queryType == VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT)
    queries->counts_feedback = true;
  queries->pools.insert(*handle, std::move(pool));
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_pool(VkDevice device, const VkQueryPoolCreateInfo* info,
                                                const VkAllocationCallbacks* allocator,
                                                VkQueryPool* pool) {
  return vk::guarded([&] { return create_pool(*find_device(device), *info, allocator, pool); });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_pool(VkDevice device, VkQueryPool pool,
                                             const VkAllocationCallbacks* allocator) {
  if (QueryState* queries = find_device(device)->queries()) {
    queries->pools.take(pool);
    queries->driver_pools.take(pool);
    queries->driver_statistics.take(pool);
  }
  next_of(device).DestroyQueryPool(device, pool, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_results(VkDevice device, VkQueryPool handle, uint32_t first,
                                            uint32_t count, size_t size, void* data,
                                            VkDeviceSize stride, VkQueryResultFlags flags) {
  const auto pool = find_pool(device, handle);
  if (!pool) {
    return next_of(device).GetQueryPoolResults(device, handle, first, count, size, data, stride,
                                               flags);
  }
  if (!pool->contains(first, count)) return VK_ERROR_UNKNOWN;
  return vk::guarded([&] { return pool->results({first, count, size, data, stride, flags}); });
}

VKAPI_ATTR void VKAPI_CALL hook_reset(VkDevice device, VkQueryPool handle, uint32_t first,
                                      uint32_t count) {
  const auto pool = find_pool(device, handle);
  if (!pool) {
    next_of(device).ResetQueryPool(device, handle, first, count);
  } else if (pool->contains(first, count)) {
    pool->reset(first, count);
  }
}

// The state of a command buffer and, if it is emulated, the pool.
struct Recording {
  Recording(VkCommandBuffer commands, VkQueryPool handle)
      : state(find_command_buffer(commands)),
        pool(state && state->queries()
                 ? state->queries()->pool(handle,
                                          [&](VkQueryPool one) { return find_pool(commands, one); })
                 : kNoPool) {}
  CommandBuffer* state;
  const std::shared_ptr<QueryPool>& pool;

 private:
  static inline const std::shared_ptr<QueryPool> kNoPool;
};

template <typename Body>
void record(const Recording& recording, Body&& body) {
  vk::guarded_void(body, [&](VkResult error) { recording.state->fail(error); });
}

VKAPI_ATTR void VKAPI_CALL hook_cmd_reset(VkCommandBuffer commands, VkQueryPool handle,
                                          uint32_t first, uint32_t count) {
  const Recording recording(commands, handle);
  if (!recording.pool) {
    next_of(commands).CmdResetQueryPool(commands, handle, first, count);
  } else if (recording.pool->contains(first, count)) {
    record(recording,
           [&] { recording.state->query_commands().reset(recording.pool, first, count); });
  }
}

// Before a query of a pool of the driver begins.
void begin_driver_query(CommandBuffer* state, VkQueryPool pool) {
  if (!state || !state->queries()) return;
  const QueryState& queries = *state->device().queries;
  if (queries.driver_statistics.find(pool)) state->queries()->begin_driver_statistics();
  if (state->driver_queries() && queries.driver_pools.find(pool)) {
    state->driver_queries()->note_driver_only();
  }
}

// After it has ended.
void end_driver_query(CommandBuffer* state, VkQueryPool pool) {
  if (!state || !state->queries()) return;
  if (!state->device().queries->driver_statistics.find(pool)) return;
  vk::guarded_void([&] { state->query_commands().end_driver_statistics(); },
                   [&](VkResult error) { state->fail(error); });
}

VKAPI_ATTR void VKAPI_CALL hook_begin(VkCommandBuffer commands, VkQueryPool handle, uint32_t query,
                                      VkQueryControlFlags flags) {
  const Recording recording(commands, handle);
  if (!recording.pool) {
    begin_driver_query(recording.state, handle);
    next_of(commands).CmdBeginQuery(commands, handle, query, flags);
  } else if (recording.pool->contains(query, 1)) {
    record(recording, [&] { recording.state->query_commands().begin({recording.pool, query, 0}); });
  }
}

VKAPI_ATTR void VKAPI_CALL hook_end(VkCommandBuffer commands, VkQueryPool handle, uint32_t query) {
  const Recording recording(commands, handle);
  if (!recording.pool) {
    next_of(commands).CmdEndQuery(commands, handle, query);
    end_driver_query(recording.state, handle);
  } else {
    record(recording, [&] { recording.state->query_commands().end({recording.pool, query, 0}); });
  }
}

VKAPI_ATTR void VKAPI_CALL hook_begin_indexed(VkCommandBuffer commands, VkQueryPool handle,
                                              uint32_t query, VkQueryControlFlags flags,
                                              uint32_t index) {
  const Recording recording(commands, handle);
  if (!recording.pool) {
    begin_driver_query(recording.state, handle);
    next_of(commands).CmdBeginQueryIndexedEXT(commands, handle, query, flags, index);
  } else if (recording.pool->contains(query, 1)) {
    record(recording, [&] {
      recording.state->query_commands().begin({recording.pool, query, index});
    });
  }
}

VKAPI_ATTR void VKAPI_CALL hook_end_indexed(VkCommandBuffer commands, VkQueryPool handle,
                                            uint32_t query, uint32_t index) {
  const Recording recording(commands, handle);
  if (!recording.pool) {
    next_of(commands).CmdEndQueryIndexedEXT(commands, handle, query, index);
    end_driver_query(recording.state, handle);
  } else {
    record(recording, [&] {
      recording.state->query_commands().end({recording.pool, query, index});
    });
  }
}

// `next()` records the command for a pool of the driver.
template <typename Next>
void copy_results(VkCommandBuffer commands, VkQueryPool handle, uint32_t first, uint32_t count,
                  const NamedMemory& target, VkDeviceSize stride, VkQueryResultFlags flags,
                  Next&& next) {
  const Recording recording(commands, handle);
  if (!recording.pool) {
    next();
  } else if (count != 0 && recording.pool->contains(first, count)) {
    record(recording, [&] {
      recording.state->query_commands().copy_results(
          *recording.pool, {first, count, 0, nullptr, stride, flags}, target);
    });
  }
}

VKAPI_ATTR void VKAPI_CALL hook_copy(VkCommandBuffer commands, VkQueryPool handle, uint32_t first,
                                     uint32_t count, VkBuffer target, VkDeviceSize offset,
                                     VkDeviceSize stride, VkQueryResultFlags flags) {
  copy_results(commands, handle, first, count, {target, offset}, stride, flags, [&] {
    next_of(commands).CmdCopyQueryPoolResults(commands, handle, first, count, target, offset,
                                              stride, flags);
  });
}

VKAPI_ATTR void VKAPI_CALL hook_copy_to_memory(VkCommandBuffer commands, VkQueryPool handle,
                                               uint32_t first, uint32_t count,
                                               const VkStridedDeviceAddressRangeKHR* target,
                                               VkAddressCommandFlagsKHR target_flags,
                                               VkQueryResultFlags flags) {
  const NamedMemory memory{.address = target->address, .flags = target_flags};
  copy_results(commands, handle, first, count, memory, target->stride, flags, [&] {
    next_of(commands).CmdCopyQueryPoolResultsToMemoryKHR(commands, handle, first, count, target,
                                                         target_flags, flags);
  });
}

VKAPI_ATTR void VKAPI_CALL hook_buffer_requirements(VkDevice device,
                                                    const VkDeviceBufferMemoryRequirements* info,
                                                    VkMemoryRequirements2* requirements) {
  vk::guarded_void([&] {
    const CopyableBuffer changed(*info->pCreateInfo, true);
    VkDeviceBufferMemoryRequirements asked = *info;
    asked.pCreateInfo = changed.info();
    next_of(device).GetDeviceBufferMemoryRequirements(device, &asked, requirements);
  });
}

// `next()` records the command for a pool of the driver.
template <typename Next>
void write_timestamp(VkCommandBuffer commands, VkQueryPool handle, uint32_t query, Next&& next) {
  const Recording recording(commands, handle);
  if (!recording.pool) {
    next();
  } else if (recording.pool->contains(query, 1)) {
    record(recording,
           [&] { recording.state->query_commands().write_timestamp(recording.pool, query); });
  }
}

VKAPI_ATTR void VKAPI_CALL hook_timestamp(VkCommandBuffer commands, VkPipelineStageFlagBits stage,
                                          VkQueryPool pool, uint32_t query) {
  write_timestamp(commands, pool, query,
                  [&] { next_of(commands).CmdWriteTimestamp(commands, stage, pool, query); });
}

VKAPI_ATTR void VKAPI_CALL hook_timestamp2(VkCommandBuffer commands, VkPipelineStageFlags2 stage,
                                           VkQueryPool pool, uint32_t query) {
  write_timestamp(commands, pool, query,
                  [&] { next_of(commands).CmdWriteTimestamp2(commands, stage, pool, query); });
}

VKAPI_ATTR void VKAPI_CALL hook_begin_condition(VkCommandBuffer commands,
                                                const VkConditionalRenderingBeginInfoEXT* info) {
  next_of(commands).CmdBeginConditionalRenderingEXT(commands, info);
  CommandBuffer* state = find_command_buffer(commands);
  if (state) state->begin_condition(*info);
}

VKAPI_ATTR void VKAPI_CALL hook_begin_condition_2(VkCommandBuffer commands,
                                                  const VkConditionalRenderingBeginInfo2EXT* info) {
  next_of(commands).CmdBeginConditionalRendering2EXT(commands, info);
  CommandBuffer* state = find_command_buffer(commands);
  if (state) state->begin_condition(*info);
}

VKAPI_ATTR void VKAPI_CALL hook_end_condition(VkCommandBuffer commands) {
  next_of(commands).CmdEndConditionalRenderingEXT(commands);
  CommandBuffer* state = find_command_buffer(commands);
  if (state) state->end_condition();
}

VKAPI_ATTR void VKAPI_CALL hook_bind_feedback_buffers(VkCommandBuffer commands, uint32_t first,
                                                      uint32_t count, const VkBuffer* buffers,
                                                      const VkDeviceSize* offsets,
                                                      const VkDeviceSize* sizes) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->transform_feedback().bind_buffers(first, count, buffers, offsets, sizes);
  }
  next_of(commands).CmdBindTransformFeedbackBuffersEXT(commands, first, count, buffers, offsets,
                                                       sizes);
}

VKAPI_ATTR void VKAPI_CALL
hook_bind_feedback_buffers_2(VkCommandBuffer commands, uint32_t first, uint32_t count,
                             const VkBindTransformFeedbackBuffer2InfoEXT* infos) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->transform_feedback().bind_buffers(first, count, infos);
  }
  next_of(commands).CmdBindTransformFeedbackBuffers2EXT(commands, first, count, infos);
}

}  // namespace

void add_query_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function,
                       HookCondition condition = HookCondition::Queries) {
    hooks.push_back(make_hook(name, function, condition));
  };
  constexpr auto kPools = HookCondition::QueryPools;
  add("vkCmdBeginConditionalRenderingEXT", hook_begin_condition, kPools);
  add("vkCmdBeginConditionalRendering2EXT", hook_begin_condition_2, kPools);
  add("vkCmdBeginQuery", hook_begin);
  add("vkCmdBeginQueryIndexedEXT", hook_begin_indexed);
  add("vkCmdBindTransformFeedbackBuffersEXT", hook_bind_feedback_buffers);
  add("vkCmdBindTransformFeedbackBuffers2EXT", hook_bind_feedback_buffers_2);
  add("vkCmdCopyQueryPoolResults", hook_copy);
  add("vkCmdCopyQueryPoolResultsToMemoryKHR", hook_copy_to_memory);
  add("vkCmdEndConditionalRenderingEXT", hook_end_condition, kPools);
  add("vkCmdEndQuery", hook_end);
  add("vkCmdEndQueryIndexedEXT", hook_end_indexed);
  add("vkCmdResetQueryPool", hook_cmd_reset);
  add("vkCmdWriteTimestamp", hook_timestamp);
  add("vkCmdWriteTimestamp2", hook_timestamp2);
  add("vkCmdWriteTimestamp2KHR", hook_timestamp2);
  add("vkCreateQueryPool", hook_create_pool, kPools);
  add("vkDestroyQueryPool", hook_destroy_pool);
  add("vkGetDeviceBufferMemoryRequirements", hook_buffer_requirements);
  add("vkGetDeviceBufferMemoryRequirementsKHR", hook_buffer_requirements);
  add("vkGetQueryPoolResults", hook_results);
  add("vkResetQueryPool", hook_reset);
  add("vkResetQueryPoolEXT", hook_reset);
}

}  // namespace tally::counters
