// Commands whose arguments stand in buffers.
#include "counters/state/device.h"
#include "counters/state/query_recorder.h"

namespace tally::counters {
namespace {

// Of one command's arguments: more are not copied, and the command is an error of the query.
constexpr VkDeviceSize kMostArgumentBytes = 16 << 20;

}  // namespace

VkResult QueryRecorder::count_indirect(const IndirectCommand& command, const DrawFacts& facts) {
  const VkDeviceSize bytes = argument_bytes(command);
  if (bytes > kMostArgumentBytes) {
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
  // Records begin at multiples of their alignment, and follow.
  const VkResult result = reserve((count_bytes + bytes + probe::kRecordAlignment - 1) /
                                      probe::kRecordAlignment * probe::kRecordAlignment,
                                  address);
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
  indirect.copied = !in_pass_ && !secondary_;
  if (indirect.copied) copy_arguments(indirect);
  work_.arguments.push_back(std::move(indirect));
  return VK_SUCCESS;
}

void QueryRecorder::copy_arguments(const QueryArguments& indirect) const {
  const DeviceTable& next = device_.next();
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_TRANSFER_BIT,
          kTransferAccess);
  if (indirect.arguments.size != 0) {
    next.CmdCopyBuffer(commands_, indirect.buffer, indirect.target, 1, &indirect.arguments);
  }
  if (indirect.count_buffer != VK_NULL_HANDLE) {
    next.CmdCopyBuffer(commands_, indirect.count_buffer, indirect.target, 1, &indirect.count);
  }
}

}  // namespace tally::counters
