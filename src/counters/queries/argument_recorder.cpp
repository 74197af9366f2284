#include "counters/queries/argument_recorder.h"

#include <algorithm>
#include <span>

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
  VkResult result = memory_.reserve(count_bytes + bytes, space);
  if (result != VK_SUCCESS) return result;
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
  result = add_indices(command, entry.operation, work);
  if (result != VK_SUCCESS) return result;
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
  const VkResult result = memory_.reserve(range.size, space);
  if (result != VK_SUCCESS) return result;
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

}  // namespace tally::counters
