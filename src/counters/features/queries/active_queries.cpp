#include "counters/features/queries/active_queries.h"

#include <algorithm>
#include <utility>

#include "vk/chain.h"
#include "vk/own_call.h"

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

void InheritedQueries::reset() {
  inherits_ = inherits_occlusion_ = inherits_driver_statistics_ = conditional_ = false;
  driver_statistics_ = 0;
  executions_.clear();
}

void InheritedQueries::inherit(const VkCommandBufferInheritanceInfo& info,
                               const EmulatedQueries& emulated) {
  const VkQueryPipelineStatisticFlags ours = emulated.statistics_of(info.pipelineStatistics);
  inherits_occlusion_ = emulated.occlusion && info.occlusionQueryEnable == VK_TRUE;
  inherits_ = ours != 0 || inherits_occlusion_;
  inherits_driver_statistics_ = counts_dispatches(info.pipelineStatistics & ~ours);
  driver_statistics_ = inherits_driver_statistics_ ? 1 : 0;
  const auto* condition = vk::find_in_chain<VkCommandBufferInheritanceConditionalRenderingInfoEXT>(
      info.pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_CONDITIONAL_RENDERING_INFO_EXT);
  conditional_ = condition && condition->conditionalRenderingEnable == VK_TRUE;
}

void InheritedQueries::end_driver_statistics() {
  const uint32_t inherited = inherits_driver_statistics_ ? 1 : 0;
  if (driver_statistics_ > inherited) --driver_statistics_;
}

// All executions of a secondary count into the same records, which are read once. The layer cannot
// tell apart what each execution counted: if the active queries changed in between, that is an
// error of the queries.
bool InheritedQueries::is_repeated(const InheritedQueries& secondary, const ActiveQueries& active,
                                   CommandTotals& totals) {
  const auto known = std::ranges::find(executions_, &secondary, &Execution::secondary);
  if (known == executions_.end()) {
    executions_.push_back({&secondary, active.changes()});
    return false;
  }
  if (known->changes != active.changes() && secondary.inherits_) ++totals.errors;
  return true;
}

void InheritedQueries::take_bindings(const InheritedQueries& secondary,
                                     const QueryWork& secondary_work, ActiveQueries& active,
                                     CommandTotals& totals, QueryWork& work) {
  const bool repeated = is_repeated(secondary, active, totals);
  for (const SampleCount& samples : secondary_work.samples) {
    // The memory of a copied one holds only what the last execution has counted.
    if (!repeated || !samples.is_copied()) {
      take_samples(samples, active, work);
    } else if (!samples.is_sum()) {
      ++totals.sample_errors;
    }
  }
  if (repeated) return;
  for (const RecordBinding& binding : secondary_work.bindings) {
    RecordBinding& taken = work.bindings.emplace_back(binding);
    taken.inherited = inherits_;
    if (!binding.inherited) continue;
    active.note_uncounted(*binding.program, binding.samples);
    active.add_shader_targets(ActiveQueries::Scope::Inheritable, binding.samples, taken.targets);
  }
}

// If it is executed more than once, those that are not copied yet are for queries of the secondary
// itself (QueryRecorder::may_begin_samples): each execution copies what it has counted.
void InheritedQueries::take_samples(const SampleCount& samples, const ActiveQueries& active,
                                    QueryWork& work) const {
  SampleCount& taken = work.samples.emplace_back(samples);
  taken.inherited = inherits_occlusion_ && samples.inherited;
  if (samples.inherited) active.add_sample_targets(taken.targets);
}

void InheritedQueries::take_arguments(const QueryWork& secondary_work, const ActiveQueries& active,
                                      QueryWork& work) const {
  for (const QueryArguments& arguments : secondary_work.arguments) {
    QueryArguments& taken = work.arguments.emplace_back(arguments);
    taken.inherited = inherits_;
    if (!arguments.inherited) continue;
    active.add_command_targets(ActiveQueries::Scope::Inheritable, taken.targets);
  }
}

VkResult InheritedQueries::keep_samples(QueryMemory& memory, QueryWork& work,
                                        QueryWork& kept) const {
  std::vector<SampleCount> read;
  for (SampleCount& samples : work.samples) {
    if (samples.inherited && samples.targets.empty()) {
      kept.samples.push_back(std::move(samples));
      continue;
    }
    if (samples.inherited) {
      TALLY_TRY(memory.reserve(samples.views * sizeof(uint64_t), samples.kept));
      kept.samples.push_back({.views = samples.views,
                              .counts = samples.kept,
                              .kept = {},
                              .inherited = true,
                              .targets = {}});
    }
    read.push_back(std::move(samples));
  }
  work.samples = std::move(read);
  return VK_SUCCESS;
}

VkResult InheritedQueries::keep(QueryMemory& memory, QueryWork& work, QueryWork& kept) const {
  if (!inherits_) return VK_SUCCESS;
  TALLY_TRY(keep_samples(memory, work, kept));
  std::vector<RecordBinding> read;
  for (RecordBinding& binding : work.bindings) {
    if (binding.targets.empty()) {
      kept.bindings.push_back(std::move(binding));
      continue;
    }
    QuerySpace space;
    TALLY_TRY(memory.reserve(all_slots_bytes(*binding.program, 0), space));
    binding.kept.address = space.address;
    kept.bindings.push_back({.program = binding.program,
                             .record = binding.kept,
                             .inherited = true,
                             .reusable = true,
                             .targets = {}});
    read.push_back(std::move(binding));
  }
  work.bindings = std::move(read);
  // The copies of arguments stay valid.
  for (const QueryArguments& arguments : work.arguments) {
    kept.arguments.push_back(arguments);
    kept.arguments.back().targets.clear();
  }
  return VK_SUCCESS;
}

}  // namespace tally::counters
