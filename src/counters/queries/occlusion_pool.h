// Occlusion queries of the driver, for draws whose samples no shader can count
// (objects/sample_facts.h). Thread-safe.
//
// All queries are reset whenever no command that uses them is pending: a recording resets each
// after it has copied its result.
#pragma once

#include <vulkan/vulkan_core.h>

#include <mutex>
#include <vector>

#include "counters/base/device_table.h"

namespace tally::counters {

class OcclusionPool {
 public:
  static constexpr uint32_t kQueries = 256;  // of each VkQueryPool

  OcclusionPool(VkDevice device, const DeviceTable& next, bool precise)
      : device_(device), next_(next), flags_(precise ? VK_QUERY_CONTROL_PRECISE_BIT : 0) {}
  ~OcclusionPool();
  OcclusionPool(const OcclusionPool&) = delete;
  OcclusionPool& operator=(const OcclusionPool&) = delete;

  // For vkCmdBeginQuery.
  VkQueryControlFlags flags() const { return flags_; }
  // A VkQueryPool for one recording.
  VkResult acquire(VkQueryPool& pool);
  // Call where no command that uses it is pending. A recording may have run without its end, so
  // the queries that it used are reset again.
  void release(VkQueryPool pool, uint32_t used);

 private:
  VkDevice device_;
  const DeviceTable& next_;
  VkQueryControlFlags flags_;
  std::mutex mutex_;  // guards what follows
  std::vector<VkQueryPool> all_;
  std::vector<VkQueryPool> free_;
};

}  // namespace tally::counters
