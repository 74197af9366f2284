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
  return a.buffer == b.buffer && a.offset == b.offset && a.size == b.size;
}

}  // namespace

bool ArgumentRecorder::exceeds_limits(const IndirectCommand& command) {
  return argument_bytes(command) > kMaxArgumentBytes || indices_of(command).size > kMaxIndexBytes;
}

VkResult ArgumentRecorder::add(const IndirectCommand& command, const DrawFacts& facts,
                               QueryArguments entry, bool can_copy, QueryWork& work) {
  const VkDeviceSize bytes = argument_bytes(command);
  const VkDeviceSize count_bytes = command.count_buffer != VK_NULL_HANDLE ? sizeof(uint64_t) : 0;
  QuerySpace space;
  VkResult result = memory_.reserve(count_bytes + bytes, space);
  if (result != VK_SUCCESS) return result;
  entry.target = space.buffer;
  entry.operation = describe(command, facts);
  entry.operation.arguments = space.address + count_bytes;
  entry.buffer = command.buffer;
  entry.arguments = {command.offset, space.offset + count_bytes, bytes};
  if (count_bytes != 0) {
    entry.operation.count_at = space.address;
    entry.count_buffer = command.count_buffer;
    entry.count = {command.count_offset, space.offset, sizeof(uint32_t)};
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
  operation.index_count = static_cast<uint32_t>(range.size / range.index_bytes);
  const size_t all = work.indices.size();
  const std::span recent = std::span(work.indices).last(std::min(all, kRecentCopies));
  const auto known =
      std::ranges::find_if(recent, [&](const IndexCopy& copy) { return same(copy.source, range); });
  if (known != recent.end()) {
    operation.indices = known->address;
    return VK_SUCCESS;
  }
  QuerySpace space;
  const VkResult result = memory_.reserve(range.size, space);
  if (result != VK_SUCCESS) return result;
  operation.indices = space.address;
  work.indices.push_back({range, space.address, space.buffer, space.offset});
  return VK_SUCCESS;
}

void ArgumentRecorder::copy(const QueryArguments& arguments) const {
  const VkCommandBuffer commands = context_.commands;
  if (arguments.arguments.size != 0) {
    context_.next.CmdCopyBuffer(commands, arguments.buffer, arguments.target, 1,
                                &arguments.arguments);
  }
  if (arguments.count_buffer != VK_NULL_HANDLE) {
    context_.next.CmdCopyBuffer(commands, arguments.count_buffer, arguments.target, 1,
                                &arguments.count);
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
    const VkBufferCopy region{index_copy.source.offset, index_copy.target_offset,
                              index_copy.source.size};
    context_.next.CmdCopyBuffer(context_.commands, index_copy.source.buffer, index_copy.target, 1,
                                &region);
  }
  work.indices.clear();
}

}  // namespace tally::counters
