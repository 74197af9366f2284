// The compute pipelines of emulated queries (glsl/query_*.comp), created at first use. Thread-safe.
#pragma once

#include <algorithm>
#include <mutex>

#include "counters/shader/internal_pipelines.h"
#include "probe/query.h"

namespace tally::counters {

class QueryPrograms {
 public:
  QueryPrograms(VkDevice device, const DeviceTable& next, uint32_t push_offset,
                uint32_t subgroup_size)
      : next_(next),
        lanes_(std::clamp(subgroup_size, 8u, 64u)),
        programs_(device, next, push_offset) {}
  ~QueryPrograms();
  QueryPrograms(const QueryPrograms&) = delete;
  QueryPrograms& operator=(const QueryPrograms&) = delete;

  VkResult prepare();

  // Executes the record operations of the batch (probe/query.h) at the address.
  void add_records(VkCommandBuffer commands, VkDeviceAddress batch,
                   const probe::QueryBatch& header) const;
  // Executes its indirect operations.
  void add_indirects(VkCommandBuffer commands, VkDeviceAddress batch, uint32_t count) const;
  // Processes spans of transform feedback. Their header (probe/query.h) is at the address.
  void follow_feedback(VkCommandBuffer commands, VkDeviceAddress spans) const;
  void finish(VkCommandBuffer commands, VkDeviceAddress batch, uint32_t count) const;
  // Writes the results of `count` queries.
  void copy(VkCommandBuffer commands, VkDeviceAddress parameters, uint32_t count) const;

 private:
  uint32_t groups_for(uint32_t invocations) const { return (invocations + lanes_ - 1) / lanes_; }
  void run(VkCommandBuffer commands, VkPipeline program, VkDeviceAddress address,
           uint32_t groups) const;

  const DeviceTable& next_;
  const uint32_t lanes_;  // workgroup size of the record and finish operations
  std::mutex mutex_;      // held while pipelines are created
  InternalPipelines programs_;
  VkPipeline records_ = VK_NULL_HANDLE;
  VkPipeline small_records_ = VK_NULL_HANDLE;
  VkPipeline finish_ = VK_NULL_HANDLE;
  VkPipeline indirects_ = VK_NULL_HANDLE;
  VkPipeline copy_ = VK_NULL_HANDLE;
  VkPipeline feedback_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
