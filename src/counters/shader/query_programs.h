// The compute pipelines of emulated queries (glsl/query_*.comp), created at first use. Thread-safe.
#pragma once

#include <algorithm>
#include <mutex>

#include "counters/shader/internal_pipelines.h"
#include "probe/query.h"

namespace tally::counters {

class QueryPrograms {
 public:
  QueryPrograms(VkDevice device, const DeviceTable& next, const PushOffsets& offsets,
                uint32_t subgroup_size)
      : next_(next), lanes_(std::clamp(subgroup_size, 8u, 64u)), programs_(device, next, offsets) {}
  ~QueryPrograms();
  QueryPrograms(const QueryPrograms&) = delete;
  QueryPrograms& operator=(const QueryPrograms&) = delete;

  VkResult prepare();

  // Executes the record operations of the batch (probe/query.h) at the address.
  void add_records(const InternalCommands& commands, VkDeviceAddress batch,
                   const probe::QueryBatch& header) const;
  // Executes its indirect operations.
  void add_indirects(const InternalCommands& commands, VkDeviceAddress batch, uint32_t count) const;
  // Processes spans of transform feedback. Their header (probe/query.h) is at the address.
  void follow_feedback(const InternalCommands& commands, VkDeviceAddress spans) const;
  void finish(const InternalCommands& commands, VkDeviceAddress batch, uint32_t count) const;
  // Writes the results of `count` queries.
  void copy(const InternalCommands& commands, VkDeviceAddress parameters, uint32_t count) const;

 private:
  uint32_t groups_for(uint32_t invocations) const { return (invocations + lanes_ - 1) / lanes_; }
  void run(const InternalCommands& commands, const InternalPipeline& program,
           VkDeviceAddress address, uint32_t groups) const;

  const DeviceTable& next_;
  const uint32_t lanes_;  // workgroup size of the record and finish operations
  std::mutex mutex_;      // held while pipelines are created
  InternalPipelines programs_;
  InternalPipeline records_;
  InternalPipeline small_records_;
  InternalPipeline finish_;
  InternalPipeline indirects_;
  InternalPipeline copy_;
  InternalPipeline feedback_;
};

}  // namespace tally::counters
