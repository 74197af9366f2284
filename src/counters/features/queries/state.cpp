#include "counters/features/queries/state.h"

#include "vk/own_call.h"

namespace tally::counters {

OcclusionPool::~OcclusionPool() {
  for (const VkQueryPool pool : all_) next_.DestroyQueryPool(device_, pool, nullptr);
}

VkResult OcclusionPool::acquire(VkQueryPool& pool) {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    pool = free_.back();
    free_.pop_back();
    return VK_SUCCESS;
  }
  all_.reserve(all_.size() + 1);
  free_.reserve(all_.size() + 1);  // so that release() does not allocate
  const VkQueryPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_OCCLUSION,
                                   .queryCount = kQueries};
  TALLY_TRY(
      vk::own("vkCreateQueryPool", next_.CreateQueryPool(device_, &info, nullptr, &pool), pool));
  next_.ResetQueryPool(device_, pool, 0, kQueries);
  all_.push_back(pool);
  return VK_SUCCESS;
}

void OcclusionPool::release(VkQueryPool pool, uint32_t used) {
  next_.ResetQueryPool(device_, pool, 0, used);
  const std::lock_guard lock(mutex_);
  free_.push_back(pool);
}

}  // namespace tally::counters
