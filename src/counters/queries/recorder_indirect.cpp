// Commands whose arguments stand in buffers, or whose indices may restart the primitive.
#include <algorithm>
#include <span>

#include "counters/layer/device.h"
#include "counters/queries/recorder.h"

namespace tally::counters {
namespace {

// Of one command's arguments: more are not copied, and the command is an error of the query.
constexpr VkDeviceSize kMaxArgumentBytes = 16 << 20;

// Of one draw's indices, likewise. One whose arguments stand in a buffer may read all that is
// bound.
constexpr VkDeviceSize kMaxIndexBytes = 64 << 20;
// Draw after draw reads the same indices: so many copies are looked through.
constexpr size_t kRecentCopies = 8;

bool same(const IndexRange& a, const IndexRange& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.size == b.size;
}

}  // namespace

VkResult QueryRecorder::count_indirect(const IndirectCommand& command, const DrawFacts& facts) {
  const VkDeviceSize bytes = argument_bytes(command);
  if (bytes > kMaxArgumentBytes || indices_of(command).size > kMaxIndexBytes) {
    count_error();
    return VK_SUCCESS;
  }
  QueryArguments indirect;
  indirect.inherited = inherits_;
  for (const Active& one : active_) {
    if (one.counts_commands() && !one.pool->indirect_pairs().empty()) {
      indirect.targets.push_back({one.pool, one.query});
    }
  }
  add_feedback_target(indirect.targets);
  if (indirect.targets.empty() && !inherits_) return VK_SUCCESS;
  const VkDeviceSize count_bytes = command.count_buffer != VK_NULL_HANDLE ? sizeof(uint64_t) : 0;
  VkDeviceAddress address = 0;
  VkResult result = reserve(count_bytes + bytes, address);
  if (result != VK_SUCCESS) return result;
  const RecordPage& page = pages_.back();
  const VkDeviceSize offset = page.offset + (address - page.address);
  indirect.target = page.chunk->buffer();
  indirect.operation = describe(command, facts);
  indirect.operation.arguments = address + count_bytes;
  indirect.buffer = command.buffer;
  indirect.arguments = {command.offset, offset + count_bytes, bytes};
  if (count_bytes != 0) {
    indirect.operation.count_at = address;
    indirect.count_buffer = command.count_buffer;
    indirect.count = {command.count_offset, offset, sizeof(uint32_t)};
  }
  result = add_indices(command, indirect.operation);
  if (result != VK_SUCCESS) return result;
  indirect.copied = !in_pass_;
  if (indirect.copied) {
    barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_TRANSFER_BIT,
            kTransferAccess);
    copy_arguments(indirect);
  }
  work_.arguments.push_back(std::move(indirect));
  return VK_SUCCESS;
}

// The copies are made where the pass ends: until then nobody may write to the buffer.
VkResult QueryRecorder::add_indices(const IndirectCommand& command,
                                    probe::QueryIndirect& operation) {
  const IndexRange range = indices_of(command);
  if (range.size == 0) return VK_SUCCESS;
  operation.index_bytes = range.index_bytes;
  operation.index_count = static_cast<uint32_t>(range.size / range.index_bytes);
  const size_t all = work_.indices.size();
  const std::span recent = std::span(work_.indices).last(std::min(all, kRecentCopies));
  const auto known =
      std::ranges::find_if(recent, [&](const IndexCopy& copy) { return same(copy.source, range); });
  if (known != recent.end()) {
    operation.indices = known->address;
    return VK_SUCCESS;
  }
  const VkResult result = reserve(range.size, operation.indices);
  if (result != VK_SUCCESS) return result;
  const RecordPage& page = pages_.back();
  work_.indices.push_back({range, operation.indices, page.chunk->buffer(),
                           page.offset + (operation.indices - page.address)});
  return VK_SUCCESS;
}

void QueryRecorder::copy_arguments(const QueryArguments& indirect) const {
  const DeviceTable& next = device_.next();
  if (indirect.arguments.size != 0) {
    next.CmdCopyBuffer(commands_, indirect.buffer, indirect.target, 1, &indirect.arguments);
  }
  if (indirect.count_buffer != VK_NULL_HANDLE) {
    next.CmdCopyBuffer(commands_, indirect.count_buffer, indirect.target, 1, &indirect.count);
  }
}

// Until then the application leaves the buffers alone.
void QueryRecorder::copy_inputs() {
  const bool all = std::ranges::all_of(work_.arguments, &QueryArguments::copied);
  if (in_pass_ || (all && work_.indices.empty())) return;
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_TRANSFER_BIT,
          kTransferAccess);
  for (QueryArguments& indirect : work_.arguments) {
    if (!indirect.copied) copy_arguments(indirect);
    indirect.copied = true;
  }
  for (const IndexCopy& copy : work_.indices) {
    const VkBufferCopy region{copy.source.offset, copy.target_offset, copy.source.size};
    device_.next().CmdCopyBuffer(commands_, copy.source.buffer, copy.target, 1, &region);
  }
  work_.indices.clear();
}

}  // namespace tally::counters
