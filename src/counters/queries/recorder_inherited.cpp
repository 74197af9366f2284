// Secondary command buffers that inherit queries, and whoever executes them.
#include <algorithm>

#include "counters/layer/device.h"
#include "counters/queries/recorder.h"
#include "vk/chain.h"

namespace tally::counters {
namespace {

// Types of queries that may be active in a primary while it executes secondaries.
bool inheritable(const QueryKind& kind) {
  return kind.type != VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR &&
         kind.type != VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL;
}

}  // namespace

void QueryRecorder::inherit(const VkCommandBufferInheritanceInfo& info,
                            const RenderPassShape& shape) {
  shape_ = shape;
  subpass_ = info.renderPass != VK_NULL_HANDLE ? info.subpass : 0;
  const EmulatedQueries& emulated = device_.queries()->emulated;
  const VkQueryPipelineStatisticFlags ours = emulated.statistics_of(info.pipelineStatistics);
  inherits_ = ours != 0 || (emulated.occlusion && info.occlusionQueryEnable == VK_TRUE);
  if (inherits_) ++shader_targets_;
  inherits_drivers_statistics_ = counts_dispatches(info.pipelineStatistics & ~ours);
  drivers_statistics_ = own_drivers_statistics();
  const auto* condition = vk::find_in_chain<VkCommandBufferInheritanceConditionalRenderingInfoEXT>(
      info.pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_CONDITIONAL_RENDERING_INFO_EXT);
  defers_timestamps_ = condition && condition->conditionalRenderingEnable == VK_TRUE;
}

// The records of a command buffer that is executed again hold what every execution counts, and are
// read once. Queries that are active at one execution and not at another cannot be told apart.
bool QueryRecorder::is_again(const QueryRecorder& secondary) {
  const auto known = std::ranges::find(executed_, &secondary, &Executed::secondary);
  if (known == executed_.end()) {
    executed_.push_back({&secondary, changes_});
    return false;
  }
  if (known->changes != changes_ && secondary.inherits_) count_error();
  return true;
}

void QueryRecorder::take_uses(const QueryRecorder& secondary) {
  for (const RecordBinding& use : secondary.work_.uses) {
    RecordBinding& taken = work_.uses.emplace_back(use);
    taken.inherited = inherits_;
    if (!use.inherited) continue;
    note_uncounted(*use.program);
    for (const Active& one : active_) {
      if (inheritable(one.pool->kind()) && one.pool->needs_shaders()) {
        taken.targets.push_back({one.pool, one.query, one.index});
      }
    }
  }
}

void QueryRecorder::execute(const QueryRecorder& secondary) {
  if (!is_again(secondary)) take_uses(secondary);
  for (const QueryArguments& indirect : secondary.work_.arguments) {
    QueryArguments& taken = work_.arguments.emplace_back(indirect);
    taken.inherited = inherits_;
    if (!indirect.inherited) continue;
    for (const Active& one : active_) {
      if (inheritable(one.pool->kind()) && one.counts_commands()) {
        taken.targets.push_back({one.pool, one.query});
      }
    }
  }
  work_.indices.insert(work_.indices.end(), secondary.work_.indices.begin(),
                       secondary.work_.indices.end());
  work_.timestamps.insert(work_.timestamps.end(), secondary.work_.timestamps.begin(),
                          secondary.work_.timestamps.end());
  work_.ends.insert(work_.ends.end(), secondary.work_.ends.begin(), secondary.work_.ends.end());
  work_.spans.insert(work_.spans.end(), secondary.work_.spans.begin(), secondary.work_.spans.end());
  for (const auto& pool : secondary.kept_pools_) kept_pools_.push_back(pool);
  for (size_t i = 0; i < kCommandMetrics; ++i) totals_[i] += secondary.totals_[i];
  errors_ += secondary.errors_;
  condition_words_.insert(condition_words_.end(), secondary.condition_words_.begin(),
                          secondary.condition_words_.end());
  words_.insert(words_.end(), secondary.words_.begin(), secondary.words_.end());
  batches_.follow(secondary.batches_);
  if (secondary.marker_) marker_ = secondary.marker_;
  if (secondary.stream_marker_) stream_marker_ = secondary.stream_marker_;
  begin_interval();
}

// What counts for the queries of whoever executes this stays: records that own queries need too
// are read now, and what they held is added up beside them. (Of commands with arguments in buffers
// the copies are still there.)
VkResult QueryRecorder::keep_inherited(QueryWork& kept) {
  if (!inherits_) return VK_SUCCESS;
  std::vector<RecordBinding> read;
  for (RecordBinding& use : work_.uses) {
    if (use.targets.empty()) {
      kept.uses.push_back(std::move(use));
      continue;
    }
    const uint64_t main_bytes = slot_bytes(*use.program, AddressSlot::Main, 0);
    const VkResult result =
        reserve(main_bytes + slot_bytes(*use.program, AddressSlot::Fragment, 0), use.kept.main);
    if (result != VK_SUCCESS) return result;
    use.kept.fragment = use.kept.main + main_bytes;
    kept.uses.push_back(
        {.program = use.program, .record = use.kept, .inherited = true, .targets = {}});
    read.push_back(std::move(use));
  }
  work_.uses = std::move(read);
  for (const QueryArguments& arguments : work_.arguments) {
    kept.arguments.push_back(arguments);
    kept.arguments.back().targets.clear();
  }
  return VK_SUCCESS;
}

}  // namespace tally::counters
