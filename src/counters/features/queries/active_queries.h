// The emulated queries that are active at one place of a recording, and what each needs.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <memory>
#include <vector>

#include "counters/features/queries/batch.h"
#include "counters/features/queries/indirect_counts.h"
#include "counters/features/queries/pool.h"
#include "counters/features/queries/state.h"
#include "counters/shaders/program.h"

namespace tally::counters {

struct QueryKey {
  const std::shared_ptr<QueryPool>& pool;
  uint32_t query = 0;
  uint32_t index = 0;  // of a vertex stream
};

class ActiveQueries {
 public:
  // Which of the active queries a command counts for.
  enum class Scope { All, Inheritable };

  void reset();
  void begin(const QueryKey& key, uint32_t views, const CommandTotals& totals);
  bool contains(const QueryKey& key) const { return find(key) != queries_.end(); }
  // Call only where contains(key).
  FinishedQuery end(const QueryKey& key, const CommandTotals& totals);
  // The command buffer inherits queries that count in shaders.
  void inherit(bool occlusion) {
    ++shader_queries_;
    inherits_occlusion_ = occlusion;
  }

  bool count_in_shaders() const { return shader_queries_ != 0; }
  // True if there is an occlusion query, of this command buffer or inherited.
  bool count_samples() const { return own_occlusion() || inherits_occlusion_; }
  bool own_occlusion() const { return occlusion_queries_ != 0; }
  bool inherits_occlusion() const { return inherits_occlusion_; }
  // True if a query needs what the host counts.
  bool count_commands() const { return command_queries_ != 0; }
  // True if a query needs the arguments of commands.
  bool read_arguments() const;
  // True if a query counts in one pass and takes the time in another.
  bool time_apart() const { return timed_queries_ != 0; }
  // How many times queries began or ended.
  uint32_t changes() const { return changes_; }
  // Adds the slots of transform feedback queries to the rows of a span.
  void write_feedback_rows(probe::QueryFeedback& span) const;

  // `samples`: whether the shaders count for occlusion queries too.
  void add_shader_targets(Scope scope, bool samples, QueryTargets& targets) const;
  // Occlusion queries.
  void add_sample_targets(QueryTargets& targets) const;
  void add_command_targets(Scope scope, QueryTargets& targets) const;
  // Queries that need the counts of a stage which runs uninstrumented are incomplete.
  void note_uncounted(const Program& program, bool samples);

 private:
  struct Active {
    const QueryPool* pool = nullptr;
    uint32_t query = 0;
    uint32_t index = 0;
    uint32_t views = 1;
    // At the beginning of the query.
    uint64_t errors = 0;
    int64_t sample_errors = 0;
    uint64_t unread = 0;
    std::array<uint64_t, kCommandMetrics> metrics{};
    uint32_t uncounted = 0;  // programs that left out what the query counts

    bool matches(const QueryKey& key) const {
      return pool == key.pool.get() && query == key.query && index == key.index;
    }
    bool is_occlusion() const { return pool->kind().type == VK_QUERY_TYPE_OCCLUSION; }
    // Assembled primitives belong to stream 0.
    bool counts_commands() const { return index == 0; }
  };

  std::vector<Active>::const_iterator find(const QueryKey& key) const;
  static uint64_t host_value(const QuerySource& source, const Active& query,
                             const CommandTotals& totals);

  std::vector<Active> queries_;
  uint32_t shader_queries_ = 0;
  uint32_t command_queries_ = 0;
  uint32_t occlusion_queries_ = 0;
  uint32_t timed_queries_ = 0;
  bool inherits_occlusion_ = false;
  uint32_t changes_ = 0;
};

// Queries across command buffers: what a secondary command buffer inherits, and what a primary
// takes over from the secondaries that it executes.

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
