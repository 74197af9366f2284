// The compute programs of emulated queries (glsl/query_*.comp), made when first needed.
// Thread-safe.
#pragma once

#include <algorithm>
#include <mutex>

#include "counters/shader/internal_pipelines.h"

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

  // The record operations of the batch (probe/query.h) at the address; its finish operations.
  void add_records(VkCommandBuffer commands, VkDeviceAddress batch, uint32_t count) const;
  // Its indirect operations.
  void add_indirects(VkCommandBuffer commands, VkDeviceAddress batch, uint32_t count) const;
  // Spans of transform feedback, behind their header (probe/query.h).
  void follow_feedback(VkCommandBuffer commands, VkDeviceAddress spans) const;
  void finish(VkCommandBuffer commands, VkDeviceAddress batch, uint32_t count) const;
  // Results of `count` queries.
  void copy(VkCommandBuffer commands, VkDeviceAddress parameters, uint32_t count) const;

 private:
  void run(VkCommandBuffer commands, VkPipeline program, VkDeviceAddress address,
           uint32_t groups) const;

  const DeviceTable& next_;
  const uint32_t lanes_;  // of a workgroup that adds records or finishes queries
  std::mutex mutex_;      // while they are made
  InternalPipelines programs_;
  VkPipeline records_ = VK_NULL_HANDLE;
  VkPipeline finish_ = VK_NULL_HANDLE;
  VkPipeline indirects_ = VK_NULL_HANDLE;
  VkPipeline copy_ = VK_NULL_HANDLE;
  VkPipeline feedback_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
