// Timestamps, and the time from a query's begin to its end.
#include <algorithm>

#include "counters/layer/device.h"
#include "counters/queries/recorder.h"

namespace tally::counters {

VkResult QueryRecorder::write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query) {
  if (std::ranges::find(kept_pools_, pool) == kept_pools_.end()) kept_pools_.push_back(pool);
  if (!in_pass_ && !defers_timestamps_) {
    const Condition::Interruption unconditioned(condition_, device_.next(), commands_);
    return record_timestamp({{pool, query}, 1});
  }
  work_.timestamps.push_back({{pool, query}, std::max(1u, shape_.views_in(subpass_))});
  return VK_SUCCESS;
}

// After all that came before, whatever stage was named: a later one is allowed.
VkResult QueryRecorder::record_timestamp(const QueryTimestamp& timestamp) {
  const DeviceClock* clock = device_.queries()->clock.get();
  if (!clock) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  HostBlock parameters;
  const VkResult result = batches_.write_timestamp(timestamp, parameters);
  if (result != VK_SUCCESS) return result;
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
          kShaderAccess);
  clock->program().write(commands_, parameters.address);
  barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  return VK_SUCCESS;
}

// The timestamps are then reset: the commands may be submitted again, for another pass. In a render
// pass of several views they were written to as many queries, of which the first has the time.
void QueryRecorder::copy_times() const {
  for (const FinishedQuery& finish : work_.ends) {
    const QueryPool& pool = *finish.target.pool;
    if (pool.begin_times() == VK_NULL_HANDLE) continue;
    const uint32_t query = finish.target.query;
    constexpr VkQueryResultFlags kFlags = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT;
    const auto copy = [&](VkQueryPool times, size_t at) {
      device_.next().CmdCopyQueryPoolResults(commands_, times, query, 1, pool.buffer(),
                                             pool.slot_offset(query) + at, sizeof(uint64_t),
                                             kFlags);
    };
    copy(pool.begin_times(), offsetof(probe::QuerySlot, begin));
    copy(pool.end_times(), offsetof(probe::QuerySlot, end));
    device_.next().CmdResetQueryPool(commands_, pool.begin_times(), query, finish.views);
    device_.next().CmdResetQueryPool(commands_, pool.end_times(), query, finish.views);
  }
}

}  // namespace tally::counters
