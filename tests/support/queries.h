// Query pools, and the driver's own queries: the reference that instrumented counts are compared
// with.
#pragma once

#include "support/context.h"

namespace tally::test {

QueryPool make_query_pool(const Context& context, VkQueryType type, uint32_t count,
                          VkQueryPipelineStatisticFlags statistics = 0, const void* next = nullptr);

// All pipeline statistics of Vulkan 1.0, in the order of their bits.
struct PipelineStatistics {
  uint64_t input_assembly_vertices, input_assembly_primitives, vertex_invocations;
  uint64_t geometry_invocations, geometry_primitives;
  uint64_t clipping_invocations, clipping_primitives, fragment_invocations;
  uint64_t tessellation_control_patches, tessellation_evaluation_invocations, compute_invocations;
};

// One pipeline-statistics query: reset outside a render pass, begin, record work, end, and read
// after completion. On a device without pipeline statistics (SwiftShader) it is not available and
// its commands do nothing.
class StatisticsQuery {
 public:
  explicit StatisticsQuery(const Context& context, uint32_t queries = 1);
  bool available() const { return pool_.get() != VK_NULL_HANDLE; }
  void reset(VkCommandBuffer commands) const;
  void begin(VkCommandBuffer commands) const;
  void end(VkCommandBuffer commands) const;
  PipelineStatistics read() const;

 private:
  const Context& context_;
  QueryPool pool_;
  uint32_t queries_;
};

// One precise occlusion query: the number of samples that passed all tests.
class OcclusionQuery {
 public:
  explicit OcclusionQuery(const Context& context);
  void reset(VkCommandBuffer commands) const;
  void begin(VkCommandBuffer commands) const;
  void end(VkCommandBuffer commands) const;
  uint64_t read() const;

 private:
  const Context& context_;
  QueryPool pool_;
};

}  // namespace tally::test
