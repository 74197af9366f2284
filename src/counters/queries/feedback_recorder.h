// Transform feedback while a command buffer is recorded, as spans: a span is a run of commands
// during which the same queries are active.
#pragma once

#include <optional>
#include <vector>

#include "counters/queries/active_queries.h"
#include "counters/queries/batch.h"
#include "counters/queries/command_totals.h"
#include "counters/queries/feedback.h"
#include "counters/queries/query_memory.h"

namespace tally::counters {

class FeedbackRecorder {
 public:
  explicit FeedbackRecorder(QueryMemory& memory) : memory_(memory) {}

  void reset() { active_.reset(); }
  bool active() const { return active_.has_value(); }

  // Transform feedback begins. `start` tells where the driver's counters must be stored before, so
  // that the GPU knows the first byte to be written; without that, they are 0.
  VkResult begin(const probe::QueryFeedback& description, FeedbackStart& start);
  void end() { active_.reset(); }

  // Call before and after the set of active queries changes. Both do nothing while transform
  // feedback is not active.
  void close_span(const CommandTotals& totals, QueryWork& work);
  VkResult open_span(const ActiveQueries& queries, const CommandTotals& totals);

  // Commands of the current span count for its rows too.
  void add_target(QueryTargets& targets) const;

 private:
  struct Active {
    probe::QueryFeedback span;
    uint64_t primitives = 0;  // assembled before the span
  };

  QueryMemory& memory_;
  std::optional<Active> active_;
};

}  // namespace tally::counters
