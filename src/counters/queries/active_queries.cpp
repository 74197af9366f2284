#include "counters/queries/active_queries.h"

#include <algorithm>
#include <utility>

namespace tally::counters {
namespace {

// True if rows of the query need counts that the program lacks.
bool leaves_out(const Program& program, const QueryKind& kind) {
  const bool feedback = kind.type == VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT;
  for (const QueryRow& row : feedback ? feedback_kind().rows : kind.rows) {
    for (const QuerySource& source : row) {
      if (!source.counts_in_shaders()) continue;
      const bool outputs =
          source.kind == QuerySource::Kind::Primitives || source.kind == QuerySource::Kind::Samples;
      const VkShaderStageFlags missing = outputs ? program.uncounted_outputs : program.uncounted;
      if ((source.stages & missing) != 0) return true;
    }
  }
  return false;
}

// True if a query of this type may be active in a primary command buffer that executes secondaries.
bool inheritable(const QueryKind& kind) {
  return kind.type != VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR &&
         kind.type != VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL;
}

}  // namespace

void ActiveQueries::reset() {
  queries_.clear();
  shader_queries_ = command_queries_ = timed_queries_ = occlusion_queries_ = changes_ = 0;
  inherits_occlusion_ = false;
}

void ActiveQueries::begin(const QueryKey& key, uint32_t views, const CommandTotals& totals) {
  ++changes_;
  queries_.push_back({key.pool.get(), key.query, key.index, views, totals.errors,
                      totals.sample_errors, totals.unread, totals.metrics});
  if (key.pool->needs_shaders()) ++shader_queries_;
  if (key.pool->needs_commands()) ++command_queries_;
  if (queries_.back().is_occlusion()) ++occlusion_queries_;
  if (key.pool->times_apart()) ++timed_queries_;
}

bool ActiveQueries::read_arguments() const {
  return std::ranges::any_of(queries_,
                             [](const Active& one) { return !one.pool->indirect_pairs().empty(); });
}

std::vector<ActiveQueries::Active>::const_iterator ActiveQueries::find(const QueryKey& key) const {
  return std::ranges::find_if(queries_, [&](const Active& one) { return one.matches(key); });
}

FinishedQuery ActiveQueries::end(const QueryKey& key, const CommandTotals& totals) {
  ++changes_;
  const auto found = find(key);
  uint64_t errors = totals.errors - found->errors + found->uncounted;
  if (found->is_occlusion()) {
    errors += static_cast<uint64_t>(totals.sample_errors - found->sample_errors);
    --occlusion_queries_;
  }
  if (!key.pool->indirect_pairs().empty()) errors += totals.unread - found->unread;
  FinishedQuery finished{
      {key.pool.get(), key.query}, found->views, static_cast<uint32_t>(errors), {}};
  for (const QueryRow& row : key.pool->kind().rows) {
    uint64_t sum = 0;
    for (const QuerySource& source : row) sum += host_value(source, *found, totals);
    finished.constants.push_back(sum);
  }
  if (key.pool->needs_shaders()) --shader_queries_;
  if (key.pool->needs_commands()) --command_queries_;
  if (key.pool->times_apart()) --timed_queries_;
  queries_.erase(found);
  return finished;
}

// The host's part of a source when the query ends.
uint64_t ActiveQueries::host_value(const QuerySource& source, const Active& query,
                                   const CommandTotals& totals) {
  switch (source.kind) {
    case QuerySource::Kind::Command:
      return query.counts_commands()
                 ? totals.of(source.command) - query.metrics[static_cast<size_t>(source.command)]
                 : 0;
    case QuerySource::Kind::Marker:
      return totals.marker.value_or(0);
    case QuerySource::Kind::StreamMarker:
      return totals.stream_marker.value_or(0);
    case QuerySource::Kind::HasMarkers:
      return (totals.marker ? 1u : 0u) | (totals.stream_marker ? 2u : 0u);
    default:
      return 0;
  }
}

void ActiveQueries::write_feedback_rows(probe::QueryFeedback& span) const {
  for (const Active& one : queries_) {
    if (one.pool->kind().type != VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT) continue;
    if (one.index >= probe::QueryFeedback::kStreams) continue;
    span.rows[one.index] = one.pool->slot(one.query) + probe::kQuerySlotHeader;
  }
}

void ActiveQueries::add_shader_targets(Scope scope, bool samples, QueryTargets& targets) const {
  for (const Active& one : queries_) {
    if (scope == Scope::Inheritable && !inheritable(one.pool->kind())) continue;
    if (one.is_occlusion() && !samples) continue;
    if (one.pool->needs_shaders()) targets.push_back({one.pool, one.query, one.index});
  }
}

void ActiveQueries::add_sample_targets(QueryTargets& targets) const {
  for (const Active& one : queries_) {
    if (one.is_occlusion()) targets.push_back({one.pool, one.query, one.index});
  }
}

void ActiveQueries::add_command_targets(Scope scope, QueryTargets& targets) const {
  for (const Active& one : queries_) {
    if (scope == Scope::Inheritable && !inheritable(one.pool->kind())) continue;
    if (one.counts_commands() && !one.pool->indirect_pairs().empty()) {
      targets.push_back({one.pool, one.query});
    }
  }
}

void ActiveQueries::note_uncounted(const Program& program, bool samples) {
  if ((program.uncounted | program.uncounted_outputs) == 0) return;
  for (Active& one : queries_) {
    if (one.is_occlusion() && !samples) continue;
    if (leaves_out(program, one.pool->kind())) ++one.uncounted;
  }
}

}  // namespace tally::counters
