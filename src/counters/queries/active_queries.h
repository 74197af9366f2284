// The emulated queries that are active at one place of a recording, and what each needs.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <memory>
#include <vector>

#include "counters/queries/batch.h"
#include "counters/queries/command_totals.h"
#include "counters/queries/pool.h"
#include "counters/shader/program.h"

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

  bool empty() const { return queries_.empty(); }
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

}  // namespace tally::counters
