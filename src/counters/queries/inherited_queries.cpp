#include "counters/queries/inherited_queries.h"

#include <algorithm>
#include <utility>

#include "vk/chain.h"

namespace tally::counters {

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
      const VkResult result = memory.reserve(samples.views * sizeof(uint64_t), samples.kept);
      if (result != VK_SUCCESS) return result;
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
  const VkResult samples_kept = keep_samples(memory, work, kept);
  if (samples_kept != VK_SUCCESS) return samples_kept;
  std::vector<RecordBinding> read;
  for (RecordBinding& binding : work.bindings) {
    if (binding.targets.empty()) {
      kept.bindings.push_back(std::move(binding));
      continue;
    }
    QuerySpace space;
    const VkResult result = memory.reserve(all_slots_bytes(*binding.program, 0), space);
    if (result != VK_SUCCESS) return result;
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
