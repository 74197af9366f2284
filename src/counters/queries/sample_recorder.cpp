#include "counters/queries/sample_recorder.h"

namespace tally::counters {

void SampleRecorder::reset() {
  for (const Pool& pool : pools_) context_.state.occlusion->release(pool.handle, pool.used);
  pools_.clear();
  counting_ = false;
}

VkResult SampleRecorder::begin(uint32_t views, SampleCount& count) {
  OcclusionPool& queries = *context_.state.occlusion;
  if (pools_.empty() || OcclusionPool::kQueries - pools_.back().used < views) {
    pools_.reserve(pools_.size() + 1);
    VkQueryPool acquired = VK_NULL_HANDLE;
    const VkResult result = queries.acquire(acquired);
    if (result != VK_SUCCESS) return result;
    pools_.push_back({acquired, 0});
  }
  Pool& pool = pools_.back();
  current_ = pool.used;
  pool.used += views;
  count.pool = pool.handle;
  count.first = current_;
  count.views = views;
  context_.next.CmdBeginQuery(context_.commands, pool.handle, current_, queries.flags());
  counting_ = true;
  return VK_SUCCESS;
}

void SampleRecorder::end() {
  context_.next.CmdEndQuery(context_.commands, pools_.back().handle, current_);
  counting_ = false;
}

VkResult SampleRecorder::copy_pending(QueryWork& work) {
  uint32_t all = 0;
  for (const SampleCount& one : work.samples) all += one.is_copied() ? 0 : one.views;
  if (all == 0) return VK_SUCCESS;
  QuerySpace space;
  const VkResult result = memory_.reserve(all * sizeof(uint64_t), space);
  if (result != VK_SUCCESS) return result;
  // Queries that follow each other are copied by one command.
  const SampleCount* first = nullptr;
  uint32_t queries = 0;
  for (SampleCount& one : work.samples) {
    if (one.is_copied()) continue;
    const bool follows = first && one.pool == first->pool && one.first == first->first + queries;
    if (first && !follows) copy(*first, queries);
    if (!follows) {
      first = &one;
      queries = 0;
    }
    one.counts = space;
    queries += one.views;
    space.address += one.views * sizeof(uint64_t);
    space.offset += one.views * sizeof(uint64_t);
  }
  copy(*first, queries);
  return VK_SUCCESS;
}

// Without a view of its own a query may stay without a result (lavapipe): the memory then stays 0.
void SampleRecorder::copy(const SampleCount& first, uint32_t queries) const {
  context_.next.CmdCopyQueryPoolResults(context_.commands, first.pool, first.first, queries,
                                        first.counts.buffer, first.counts.offset, sizeof(uint64_t),
                                        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  context_.next.CmdResetQueryPool(context_.commands, first.pool, first.first, queries);
}

}  // namespace tally::counters
