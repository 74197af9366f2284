#include "counters/features/queries/indirect_counts.h"

#include <algorithm>
#include <optional>

#include "vk/own_call.h"

namespace tally::counters {

VkResult QueryMemory::reserve(uint64_t bytes, uint64_t alignment, QuerySpace& space) {
  used_ = probe::align_up(used_, alignment);
  if (pages_.empty() || used_ > pages_.back().size || pages_.back().size - used_ < bytes) {
    RecordPage page;
    TALLY_TRY(reserve_page(bytes, page));
    used_ = 0;
  }
  const RecordPage& page = pages_.back();
  space = {page.address + used_, page.chunk->buffer(), page.offset + used_};
  used_ += bytes;
  return VK_SUCCESS;
}

VkResult QueryMemory::reserve_page(uint64_t bytes, RecordPage& page) {
  TALLY_TRY(pool_.acquire(bytes, page));
  pages_.push_back(page);
  used_ = page.size;
  return VK_SUCCESS;
}

void QueryMemory::reset() {
  for (const RecordPage& page : pages_) pool_.release(page);
  pages_.clear();
  used_ = 0;
}

namespace {

void copy_memory(const DeviceTable& next, VkCommandBuffer commands,
                 const std::vector<VkDeviceMemoryCopyKHR>& regions) {
  const VkCopyDeviceMemoryInfoKHR info{.sType = VK_STRUCTURE_TYPE_COPY_DEVICE_MEMORY_INFO_KHR,
                                       .regionCount = static_cast<uint32_t>(regions.size()),
                                       .pRegions = regions.data()};
  next.CmdCopyMemoryKHR(commands, &info);
}

}  // namespace

void copy_in(const DeviceTable& next, VkCommandBuffer commands, const NamedMemory& source,
             const QuerySpace& target, VkDeviceSize bytes) {
  if (source.address == 0) {
    const VkBufferCopy region{source.offset, target.offset, bytes};
    next.CmdCopyBuffer(commands, source.buffer, target.buffer, 1, &region);
    return;
  }
  copy_memory(next, commands,
              {{.sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_COPY_KHR,
                .srcRange = {source.address, bytes},
                .srcFlags = source.flags,
                .dstRange = {target.address, bytes},
                .dstFlags = kLayerAddressFlags}});
}

void copy_out(const DeviceTable& next, VkCommandBuffer commands, const QuerySpace& source,
              const NamedMemory& target, std::vector<VkBufferCopy> regions) {
  if (target.address == 0) {
    for (VkBufferCopy& region : regions) {
      region.srcOffset += source.offset;
      region.dstOffset += target.offset;
    }
    next.CmdCopyBuffer(commands, source.buffer, target.buffer,
                       static_cast<uint32_t>(regions.size()), regions.data());
    return;
  }
  std::vector<VkDeviceMemoryCopyKHR> copies;
  for (const VkBufferCopy& region : regions) {
    copies.push_back({.sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_COPY_KHR,
                      .srcRange = {source.address + region.srcOffset, region.size},
                      .srcFlags = kLayerAddressFlags,
                      .dstRange = {target.address + region.dstOffset, region.size},
                      .dstFlags = target.flags});
  }
  copy_memory(next, commands, copies);
}

template <typename Flags>
void CopyableBuffer::add_copy(Flags& usage) {
  constexpr Flags kCopied = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
                            VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT |
                            VK_BUFFER_USAGE_INDEX_BUFFER_BIT;
  constexpr Flags kBound =
      VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT;
  is_bound_ = (usage & kBound) != 0;
  is_changed_ = (usage & kCopied) != 0 && (usage & VK_BUFFER_USAGE_TRANSFER_SRC_BIT) == 0;
  if (is_changed_) usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
}

CopyableBuffer::CopyableBuffer(const VkBufferCreateInfo& info, bool queries)
    : info_(info), chain_(queries ? info.pNext : nullptr) {
  if (!queries) return;
  // If the struct is present, the driver ignores VkBufferCreateInfo::usage.
  auto* newer = chain_.find<VkBufferUsageFlags2CreateInfoKHR>(
      VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR);
  if (newer) {
    add_copy(newer->usage);
  } else {
    add_copy(info_.usage);
  }
  info_.pNext = chain_.head();
}

namespace {

using probe::QueryIndirect;

std::optional<QueryIndirect::Metric> metric_of(CommandMetric metric) {
  switch (metric) {
    case CommandMetric::Vertices:
      return QueryIndirect::kVertices;
    case CommandMetric::Primitives:
      return QueryIndirect::kPrimitives;
    case CommandMetric::Patches:
      return QueryIndirect::kPatchCount;
    case CommandMetric::LastPrimitives:
      return QueryIndirect::kLastPrimitives;
    case CommandMetric::ClippedPrimitives:
      return QueryIndirect::kClippedPrimitives;
    case CommandMetric::Workgroups:
      return QueryIndirect::kWorkgroups;
    case CommandMetric::MeshWorkgroups:
      return QueryIndirect::kMeshWorkgroups;
    default:
      return std::nullopt;
  }
}

// The number of argument words of one draw that are read.
VkDeviceSize words_of(const IndirectCommand& command) {
  switch (command.kind) {
    case QueryIndirect::kDraw:
      return command.indexed ? 3 : 2;
    case QueryIndirect::kGroups:
      return 3;
    default:
      return 1;
  }
}

}  // namespace

VkDeviceSize argument_bytes(const IndirectCommand& command) {
  if (command.kind == QueryIndirect::kIndices) return 0;
  const VkDeviceSize one = 4 * words_of(command);
  if (command.kind == QueryIndirect::kByteCount || command.max_count == 0) return one;
  return VkDeviceSize{command.max_count - 1} * command.stride + one;
}

IndexRange indices_of(const IndirectCommand& command) {
  IndexRange range = command.indices;
  if (command.kind == QueryIndirect::kIndices) {
    const VkDeviceSize skipped =
        std::min(range.size, VkDeviceSize{command.first_index} * range.index_bytes);
    range.memory = range.memory.behind(skipped);
    range.size -= skipped;
    range.size = std::min(range.size, VkDeviceSize{command.max_count} * range.index_bytes);
  }
  range.size -= range.size % range.index_bytes;
  return range;
}

probe::QueryIndirect describe(const IndirectCommand& command, const DrawFacts& facts) {
  QueryIndirect result;
  result.max_draws = command.max_count;
  result.stride = command.stride;
  result.kind = command.kind;
  const PrimitiveStep step = primitive_step(facts);
  result.first = step.first;
  result.step = step.step;
  result.instances = command.instances;
  result.first_bytes = command.first_bytes;
  const auto flag = [&](bool set, QueryIndirect::Flags bit) { result.flags |= set ? bit : 0u; };
  flag((facts.stages & VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) != 0, QueryIndirect::kPatches);
  flag(keeps_primitives(facts), QueryIndirect::kLast);
  flag(keeps_primitives(facts) && !facts.rasterizer_discard, QueryIndirect::kClipped);
  flag(command.mesh, QueryIndirect::kMesh);
  return result;
}

std::vector<uint64_t> indirect_pairs(const std::vector<QueryRow>& rows) {
  std::vector<uint64_t> pairs;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (const QuerySource& source : rows[row]) {
      if (source.kind != QuerySource::Kind::Command) continue;
      const auto metric = metric_of(source.command);
      if (metric) pairs.push_back(row | uint64_t{*metric} << 32);
    }
  }
  return pairs;
}

}  // namespace tally::counters
