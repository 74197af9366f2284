#include "counters/features/queries/command_recorders.h"

#include <algorithm>
#include <span>

#include "counters/features/queries/active_queries.h"
#include "counters/features/queries/state.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

// Limits for one command. A command beyond them is an error of the query.
constexpr VkDeviceSize kMaxArgumentBytes = 16 << 20;
// An indirect draw may read all indices that are bound.
constexpr VkDeviceSize kMaxIndexBytes = 64 << 20;
// Consecutive draws often read the same indices: the last copies are searched for them.
constexpr size_t kRecentCopies = 8;

bool same(const IndexRange& a, const IndexRange& b) {
  return a.memory == b.memory && a.size == b.size;
}

}  // namespace

bool ArgumentRecorder::exceeds_limits(const IndirectCommand& command) {
  return argument_bytes(command) > kMaxArgumentBytes || indices_of(command).size > kMaxIndexBytes;
}

VkResult ArgumentRecorder::add(const IndirectCommand& command, const DrawFacts& facts,
                               QueryArguments entry, bool can_copy, QueryWork& work) {
  const VkDeviceSize bytes = argument_bytes(command);
  const VkDeviceSize count_bytes = command.count.is_null() ? 0 : sizeof(uint64_t);
  QuerySpace space;
  TALLY_TRY(memory_.reserve(count_bytes + bytes, space));
  entry.operation = describe(command, facts);
  entry.operation.arguments = space.address + count_bytes;
  entry.arguments = command.arguments;
  entry.arguments_copy = {space.address + count_bytes, space.buffer, space.offset + count_bytes};
  entry.argument_bytes = bytes;
  if (count_bytes != 0) {
    entry.operation.count_at = space.address;
    entry.count = command.count;
    entry.count_copy = space;
  }
  TALLY_TRY(add_indices(command, entry.operation, work));
  entry.copied = can_copy;
  if (can_copy) {
    context_.barrier(QueryContext::kAnything, QueryContext::kTransfer);
    copy(entry);
  }
  work.arguments.push_back(std::move(entry));
  return VK_SUCCESS;
}

// The copies are made when the render pass has ended: the application may not write to the buffer
// before.
VkResult ArgumentRecorder::add_indices(const IndirectCommand& command,
                                       probe::QueryIndirect& operation, QueryWork& work) {
  const IndexRange range = indices_of(command);
  if (range.size == 0) return VK_SUCCESS;
  operation.index_bytes = range.index_bytes;
  operation.restart = range.restart;
  operation.index_count = static_cast<uint32_t>(range.size / range.index_bytes);
  const size_t all = work.indices.size();
  const std::span recent = std::span(work.indices).last(std::min(all, kRecentCopies));
  const auto known =
      std::ranges::find_if(recent, [&](const IndexCopy& copy) { return same(copy.source, range); });
  if (known != recent.end()) {
    operation.indices = known->target.address;
    return VK_SUCCESS;
  }
  QuerySpace space;
  TALLY_TRY(memory_.reserve(range.size, space));
  operation.indices = space.address;
  work.indices.push_back({range, space});
  return VK_SUCCESS;
}

void ArgumentRecorder::copy(const QueryArguments& arguments) const {
  const VkCommandBuffer commands = context_.commands;
  if (arguments.argument_bytes != 0) {
    copy_in(context_.next, commands, arguments.arguments, arguments.arguments_copy,
            arguments.argument_bytes);
  }
  if (!arguments.count.is_null()) {
    copy_in(context_.next, commands, arguments.count, arguments.count_copy, sizeof(uint32_t));
  }
}

void ArgumentRecorder::copy_pending(QueryWork& work) const {
  if (work.inputs_copied() && work.indices.empty()) return;
  context_.barrier(QueryContext::kAnything, QueryContext::kTransfer);
  for (QueryArguments& arguments : work.arguments) {
    if (!arguments.copied) copy(arguments);
    arguments.copied = true;
  }
  for (const IndexCopy& index_copy : work.indices) {
    copy_in(context_.next, context_.commands, index_copy.source.memory, index_copy.target,
            index_copy.source.size);
  }
  work.indices.clear();
}

VkResult FeedbackRecorder::begin(const probe::QueryFeedback& description, FeedbackStart& start) {
  constexpr uint64_t kCapacityBytes = probe::QueryFeedback::kStreams * sizeof(uint64_t);
  constexpr uint64_t kStartBytes = probe::QueryFeedback::kBuffers * sizeof(uint32_t);
  QuerySpace space;
  TALLY_TRY(memory_.reserve(kCapacityBytes + kStartBytes, space));
  active_ = {description, 0};
  active_->span.flags = probe::QueryFeedback::kFirst;
  active_->span.capacity = space.address;
  active_->span.starts = space.address + kCapacityBytes;
  start = {space.buffer, space.offset + kCapacityBytes, space.address + kCapacityBytes};
  return VK_SUCCESS;
}

VkResult FeedbackRecorder::open_span(const ActiveQueries& queries, const CommandTotals& totals) {
  if (!active_) return VK_SUCCESS;
  probe::QueryFeedback& span = active_->span;
  QuerySpace space;
  TALLY_TRY(memory_.reserve(probe::QueryFeedback::kStreams * sizeof(uint64_t), space));
  span.needs = space.address;
  active_->primitives = totals.of(CommandMetric::LastPrimitives);
  std::ranges::fill(span.rows, 0);
  queries.write_feedback_rows(span);
  return VK_SUCCESS;
}

void FeedbackRecorder::close_span(const CommandTotals& totals, QueryWork& work) {
  if (!active_ || active_->span.needs == 0) return;
  probe::QueryFeedback& span = active_->span;
  span.assembled = totals.of(CommandMetric::LastPrimitives) - active_->primitives;
  work.spans.push_back(span);
  span.flags = 0;
  span.needs = 0;
}

void FeedbackRecorder::add_target(QueryTargets& targets) const {
  if (active_ && active_->span.needs != 0) targets.push_back({.needs = active_->span.needs});
}

bool SampleRecorder::available() const { return context_.state.occlusion != nullptr; }

bool SampleRecorder::precise() const { return context_.state.occlusion->flags() != 0; }

void SampleRecorder::reset() {
  for (const OwnQueries::Pool& pool : pools_) context_.state.occlusion->release(pool);
  pools_.clear();
  counting_ = false;
}

VkResult SampleRecorder::begin(uint32_t views, SampleCount& count) {
  OwnQueries& queries = *context_.state.occlusion;
  if (pools_.empty() || !pools_.back().has(views)) {
    pools_.reserve(pools_.size() + 1);
    VkQueryPool acquired = VK_NULL_HANDLE;
    TALLY_TRY(queries.acquire(acquired));
    pools_.push_back({acquired, 0});
  }
  OwnQueries::Pool& pool = pools_.back();
  current_ = pool.used;
  pool.used += views;
  count.pool = pool.handle;
  count.first = current_;
  count.views = views;
  context_.next.CmdBeginQuery(context_.commands, pool.handle, current_, queries.flags());
  counting_ = true;
  return VK_SUCCESS;
}

void SampleRecorder::end() {
  context_.next.CmdEndQuery(context_.commands, pools_.back().handle, current_);
  counting_ = false;
}

VkResult SampleRecorder::copy_pending(QueryWork& work) {
  uint32_t all = 0;
  for (const SampleCount& one : work.samples) all += one.is_copied() ? 0 : one.views;
  if (all == 0) return VK_SUCCESS;
  QuerySpace space;
  TALLY_TRY(memory_.reserve(all * sizeof(uint64_t), space));
  // Queries that follow each other are copied by one command.
  const SampleCount* first = nullptr;
  uint32_t queries = 0;
  for (SampleCount& one : work.samples) {
    if (one.is_copied()) continue;
    const bool follows = first && one.pool == first->pool && one.first == first->first + queries;
    if (first && !follows) copy(*first, queries);
    if (!follows) {
      first = &one;
      queries = 0;
    }
    one.counts = space;
    queries += one.views;
    space.address += one.views * sizeof(uint64_t);
    space.offset += one.views * sizeof(uint64_t);
  }
  copy(*first, queries);
  return VK_SUCCESS;
}

// Without a view of its own a query may stay without a result (lavapipe): the memory then stays 0.
void SampleRecorder::copy(const SampleCount& first, uint32_t queries) const {
  context_.next.CmdCopyQueryPoolResults(context_.commands, first.pool, first.first, queries,
                                        first.counts.buffer, first.counts.offset, sizeof(uint64_t),
                                        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  context_.next.CmdResetQueryPool(context_.commands, first.pool, first.first, queries);
}

}  // namespace tally::counters
