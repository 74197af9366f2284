// Copies of arguments and indices in the application's buffers, from which the GPU counts what the
// host cannot know: indirect commands, and draws whose indices may restart the primitive.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>
#include <vector>

#include "counters/features/queries/batch.h"
#include "counters/features/queries/indirect_counts.h"
#include "counters/features/queries/state.h"

namespace tally::counters {

class ActiveQueries;

class ArgumentRecorder {
 public:
  ArgumentRecorder(const QueryContext& context, QueryMemory& memory)
      : context_(context), memory_(memory) {}

  // True if the layer would have to copy too much for one command.
  static bool exceeds_limits(const IndirectCommand& command);
  // Adds a command to `work`; `entry` has its targets. Copies its arguments now if `can_copy`.
  VkResult add(const IndirectCommand& command, const DrawFacts& facts, QueryArguments entry,
               bool can_copy, QueryWork& work);
  // Copies what has not been copied yet. Not inside a render pass.
  void copy_pending(QueryWork& work) const;

 private:
  VkResult add_indices(const IndirectCommand& command, probe::QueryIndirect& operation,
                       QueryWork& work);
  void copy(const QueryArguments& arguments) const;

  const QueryContext& context_;
  QueryMemory& memory_;
};

// Transform feedback while a command buffer is recorded, as spans: a span is a run of commands
// during which the same queries are active.

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

// Occlusion queries of the driver in one recording, around draws whose samples no shader can count.
// Each lies within one subpass. After the render pass their results are copied to memory of the
// layer, from where they are added like the counters of a record.
//
// Used by one thread at a time, as the command buffer is. reset() returns the queries and may be
// called only when no command that uses them is pending.

class SampleRecorder {
 public:
  SampleRecorder(const QueryContext& context, QueryMemory& memory)
      : context_(context), memory_(memory) {}
  ~SampleRecorder() { reset(); }
  SampleRecorder(const SampleRecorder&) = delete;
  SampleRecorder& operator=(const SampleRecorder&) = delete;

  void reset();
  // True if the driver is to count samples on this device.
  bool available() const;
  // True if its counts are exact.
  bool precise() const;
  // True if it counts those of the next draw.
  bool counting() const { return counting_; }
  // Begins a query, which takes as many as there are views.
  VkResult begin(uint32_t views, SampleCount& count);
  void end();
  // Copies the results of finished queries, and resets the queries. Outside of render passes.
  VkResult copy_pending(QueryWork& work);

 private:
  void copy(const SampleCount& first, uint32_t queries) const;

  const QueryContext& context_;
  QueryMemory& memory_;
  std::vector<OwnQueries::Pool> pools_;
  uint32_t current_ = 0;  // query
  bool counting_ = false;
};

}  // namespace tally::counters
