// Queries across command buffers: what a secondary command buffer inherits, and what a primary
// takes over from the secondaries that it executes.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "counters/queries/active_queries.h"
#include "counters/queries/batch.h"
#include "counters/queries/command_totals.h"
#include "counters/queries/query_memory.h"
#include "counters/queries/types.h"

namespace tally::counters {

class InheritedQueries {
 public:
  void reset();
  // This is a secondary command buffer in which queries of the primary may go on.
  void inherit(const VkCommandBufferInheritanceInfo& info, const EmulatedQueries& emulated);
  // True if it inherits queries that the layer emulates.
  bool any() const { return inherits_; }
  bool occlusion() const { return inherits_occlusion_; }
  // True if it inherits conditional rendering, which may discard dispatches of the layer.
  bool conditional() const { return conditional_; }

  // Queries of the driver that would count dispatches of the layer.
  void begin_driver_statistics() { ++driver_statistics_; }
  void end_driver_statistics();
  bool driver_statistics_active() const { return driver_statistics_ != 0; }

  // A primary takes over the bindings, samples and arguments of a secondary.
  void take_bindings(const InheritedQueries& secondary, const QueryWork& secondary_work,
                     ActiveQueries& active, CommandTotals& totals, QueryWork& work);
  void take_arguments(const QueryWork& secondary_work, const ActiveQueries& active,
                      QueryWork& work) const;
  // The work so far is resolved: later executions count again from zero.
  void clear_executions() { executions_.clear(); }

  // Before `work` is resolved: moves to `kept` what counts for queries of the primary. Records that
  // queries of this command buffer need too are read now and summed next to the record.
  VkResult keep(QueryMemory& memory, QueryWork& work, QueryWork& kept) const;

 private:
  struct Execution {
    const InheritedQueries* secondary;
    uint32_t changes;  // of the active queries, when it was executed
  };
  bool is_repeated(const InheritedQueries& secondary, const ActiveQueries& active,
                   CommandTotals& totals);
  void take_samples(const SampleCount& samples, const ActiveQueries& active, QueryWork& work) const;
  VkResult keep_samples(QueryMemory& memory, QueryWork& work, QueryWork& kept) const;

  bool inherits_ = false;
  bool inherits_occlusion_ = false;
  bool inherits_driver_statistics_ = false;
  bool conditional_ = false;
  uint32_t driver_statistics_ = 0;
  std::vector<Execution> executions_;  // since work was last resolved
};

}  // namespace tally::counters
