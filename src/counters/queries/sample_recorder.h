// Occlusion queries of the driver in one recording, around draws whose samples no shader can count.
// Each lies within one subpass. After the render pass their results are copied to memory of the
// layer, from where they are added like the counters of a record.
//
// Used by one thread at a time, as the command buffer is. reset() returns the queries and may be
// called only when no command that uses them is pending.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "counters/queries/batch.h"
#include "counters/queries/context.h"
#include "counters/queries/query_memory.h"

namespace tally::counters {

class SampleRecorder {
 public:
  SampleRecorder(const QueryContext& context, QueryMemory& memory)
      : context_(context), memory_(memory) {}
  ~SampleRecorder() { reset(); }
  SampleRecorder(const SampleRecorder&) = delete;
  SampleRecorder& operator=(const SampleRecorder&) = delete;

  void reset();
  // True if the driver is to count samples on this device.
  bool available() const { return context_.state.occlusion != nullptr; }
  // True if its counts are exact.
  bool precise() const { return context_.state.occlusion->flags() != 0; }
  // True if it counts those of the next draw.
  bool counting() const { return counting_; }
  // Begins a query, which takes as many as there are views.
  VkResult begin(uint32_t views, SampleCount& count);
  void end();
  // Copies the results of finished queries, and resets the queries. Outside of render passes.
  VkResult copy_pending(QueryWork& work);

 private:
  struct Pool {
    VkQueryPool handle = VK_NULL_HANDLE;
    uint32_t used = 0;
  };
  void copy(const SampleCount& first, uint32_t queries) const;

  const QueryContext& context_;
  QueryMemory& memory_;
  std::vector<Pool> pools_;
  uint32_t current_ = 0;  // query
  bool counting_ = false;
};

}  // namespace tally::counters
