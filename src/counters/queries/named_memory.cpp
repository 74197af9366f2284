#include "counters/queries/named_memory.h"

namespace tally::counters {
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

}  // namespace tally::counters
