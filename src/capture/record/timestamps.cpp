#include "capture/record/timestamps.h"

#include <algorithm>
#include <array>

namespace tally::capture {

VkQueryPool TimestampPools::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const VkQueryPool pool = free_.back();
      free_.pop_back();
      return pool;
    }
  }
  VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = kQueries;
  VkQueryPool pool = VK_NULL_HANDLE;
  vk::own("vkCreateQueryPool", table_.CreateQueryPool(device_, &info, nullptr, &pool), pool);
  return pool;
}

void TimestampPools::give_back(VkQueryPool pool) {
  const std::lock_guard lock(mutex_);
  free_.push_back(pool);
}

void TimestampPools::destroy_all() {
  const std::lock_guard lock(mutex_);
  for (const VkQueryPool pool : free_) table_.DestroyQueryPool(device_, pool, nullptr);
  free_.clear();
}

Timestamps::~Timestamps() {
  for (const VkQueryPool pool : chunks_) pools_.give_back(pool);
}

std::optional<TimestampPair> Timestamps::begin(VkCommandBuffer command_buffer) {
  if (pairs_ * 2 == chunks_.size() * TimestampPools::kQueries) {
    const VkQueryPool pool = pools_.borrow();
    if (pool == VK_NULL_HANDLE) return std::nullopt;
    chunks_.push_back(pool);
    pools_.table().CmdResetQueryPool(command_buffer, pool, 0, TimestampPools::kQueries);
  }
  const TimestampPair pair = pairs_++;
  write(command_buffer, pair * 2);
  return pair;
}

void Timestamps::end(VkCommandBuffer command_buffer, TimestampPair pair) const {
  write(command_buffer, pair * 2 + 1);
}

// Both timestamps are written at the bottom of the pipe. The time extends from the completion of
// all earlier work to the completion of this work. So the times of a queue add up, and no time is
// counted twice.
void Timestamps::write(VkCommandBuffer command_buffer, uint32_t query) const {
  pools_.table().CmdWriteTimestamp(command_buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                   chunks_[query / TimestampPools::kQueries],
                                   query % TimestampPools::kQueries);
}

std::vector<std::optional<stream::GpuTime>> Timestamps::read(const Clock& clock,
                                                             vk::OwnFailure& failure) const {
  struct Result {
    uint64_t ticks;
    uint64_t available;
  };
  std::vector<std::optional<stream::GpuTime>> times(pairs_);
  const uint64_t mask = clock.valid_bits >= 64 ? ~0ull : (1ull << clock.valid_bits) - 1;
  std::array<Result, TimestampPools::kQueries> results{};
  for (uint32_t pair = 0; pair < pairs_; ++pair) {
    const uint32_t query = pair * 2;
    const uint32_t offset = query % TimestampPools::kQueries;
    if (offset == 0) {
      const uint32_t count = std::min(pairs_ * 2 - query, TimestampPools::kQueries);
      results.fill({});
      const VkResult result = pools_.table().GetQueryPoolResults(
          pools_.device(), chunks_[query / TimestampPools::kQueries], 0, count,
          count * sizeof(Result), results.data(), sizeof(Result),
          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
      if (result < 0) {
        failure = {result, "vkGetQueryPoolResults"};
        results.fill({});
      }
    }
    const Result& begin = results[offset];
    const Result& end = results[offset + 1];
    if (begin.available == 0 || end.available == 0) continue;
    const uint64_t ticks = (end.ticks - begin.ticks) & mask;
    times[pair] = stream::GpuTime{
        static_cast<int64_t>(static_cast<double>(begin.ticks & mask) * clock.period_ns),
        static_cast<int64_t>(static_cast<double>(ticks) * clock.period_ns)};
  }
  return times;
}

}  // namespace tally::capture
