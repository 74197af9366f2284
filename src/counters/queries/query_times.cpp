#include "counters/queries/query_times.h"

#include <cstddef>

#include <tally/vulkan_newest.h>

namespace tally::counters {

void QueryTimes::write_begin(const QueryPool& pool, uint32_t query) const {
  if (pool.begin_times() == VK_NULL_HANDLE) return;
  // The timer of VK_QCOM_elapsed_timer_query starts when all earlier commands have completed.
  const bool after_commands = pool.kind().type == VK_QUERY_TYPE_TIME_ELAPSED_QCOM;
  context_.next.CmdWriteTimestamp(
      context_.commands,
      after_commands ? VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT : VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
      pool.begin_times(), query);
}

void QueryTimes::write_end(const QueryPool& pool, uint32_t query) const {
  if (pool.end_times() == VK_NULL_HANDLE) return;
  context_.next.CmdWriteTimestamp(context_.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                  pool.end_times(), query);
}

// The timestamps are reset after the copy, since the commands may be submitted again for another
// pass. In a render pass with several views the driver writes as many queries; the first has the
// time.
void QueryTimes::copy(std::span<const FinishedQuery> finished) const {
  for (const FinishedQuery& one : finished) {
    const QueryPool& pool = *one.target.pool;
    if (pool.begin_times() == VK_NULL_HANDLE) continue;
    const uint32_t query = one.target.query;
    constexpr VkQueryResultFlags kFlags = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT;
    const auto copy = [&](VkQueryPool times, size_t at) {
      context_.next.CmdCopyQueryPoolResults(context_.commands, times, query, 1, pool.buffer(),
                                            pool.slot_offset(query) + at, sizeof(uint64_t), kFlags);
    };
    copy(pool.begin_times(), offsetof(probe::QuerySlot, begin));
    copy(pool.end_times(), offsetof(probe::QuerySlot, end));
    context_.next.CmdResetQueryPool(context_.commands, pool.begin_times(), query, one.views);
    context_.next.CmdResetQueryPool(context_.commands, pool.end_times(), query, one.views);
  }
}

// The timestamp is written after all earlier commands, whatever stage the application named. The
// specification allows a later stage.
VkResult QueryTimes::record(const QueryTimestamp& timestamp) {
  const DeviceClock* clock = context_.state.clock.get();
  if (!clock) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  HostBlock parameters;
  const VkResult result = batches_.write_timestamp(timestamp, parameters);
  if (result != VK_SUCCESS) return result;
  context_.barrier(QueryContext::kAnything, QueryContext::kShader);
  clock->program().write(context_.dispatches(), parameters.address);
  context_.barrier({VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT},
                   {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});
  return VK_SUCCESS;
}

}  // namespace tally::counters
