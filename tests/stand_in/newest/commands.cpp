// The commands that take addresses, by the commands that take buffers.
#include <array>

#include "stand_in/newest/driver.h"

namespace tally::test::newest {
namespace {

constexpr uint32_t kMaxBuffers = 4;

// --- buffers and their addresses

VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice handle, const VkBufferCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkBuffer* buffer) {
  Device& device = device_of(handle);
  const VkResult result = device.next.CreateBuffer(handle, info, allocator, buffer);
  const std::lock_guard lock(device.mutex);
  if (result == VK_SUCCESS) device.sizes[*buffer] = info->size;
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice handle, VkBuffer buffer,
                                          const VkAllocationCallbacks* allocator) {
  Device& device = device_of(handle);
  {
    const std::lock_guard lock(device.mutex);
    device.sizes.erase(buffer);
    std::erase_if(device.addresses, [&](const auto& known) { return known.second == buffer; });
  }
  device.next.DestroyBuffer(handle, buffer, allocator);
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL get_address(VkDevice handle,
                                                  const VkBufferDeviceAddressInfo* info) {
  Device& device = device_of(handle);
  const VkDeviceAddress address = device.next.GetBufferDeviceAddress(handle, info);
  const std::lock_guard lock(device.mutex);
  device.addresses[address] = info->buffer;
  return address;
}

// --- draws and dispatches

template <auto kNext>
VKAPI_ATTR void VKAPI_CALL indirect(VkCommandBuffer commands, const VkDrawIndirect2InfoKHR* info) {
  Device& device = device_of(commands);
  const Place place = device.find(info->addressRange.address);
  (device.next.*kNext)(commands, place.buffer, place.offset, info->drawCount,
                       static_cast<uint32_t>(info->addressRange.stride));
}

template <auto kNext>
VKAPI_ATTR void VKAPI_CALL indirect_count(VkCommandBuffer commands,
                                          const VkDrawIndirectCount2InfoKHR* info) {
  Device& device = device_of(commands);
  const Place place = device.find(info->addressRange.address);
  const Place count = device.find(info->countAddressRange.address);
  (device.next.*kNext)(commands, place.buffer, place.offset, count.buffer, count.offset,
                       info->maxDrawCount, static_cast<uint32_t>(info->addressRange.stride));
}

VKAPI_ATTR void VKAPI_CALL byte_count(VkCommandBuffer commands, uint32_t instances,
                                      uint32_t first_instance,
                                      const VkBindTransformFeedbackBuffer2InfoEXT* counter,
                                      uint32_t counter_offset, uint32_t stride) {
  Device& device = device_of(commands);
  const Place place = device.find(counter->addressRange.address);
  device.next.CmdDrawIndirectByteCountEXT(commands, instances, first_instance, place.buffer,
                                          place.offset, counter_offset, stride);
}

VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands,
                                    const VkDispatchIndirect2InfoKHR* info) {
  Device& device = device_of(commands);
  const Place place = device.find(info->addressRange.address);
  device.next.CmdDispatchIndirect(commands, place.buffer, place.offset);
}

// --- binds

VKAPI_ATTR void VKAPI_CALL bind_indices(VkCommandBuffer commands,
                                        const VkBindIndexBuffer3InfoKHR* info) {
  Device& device = device_of(commands);
  const Place place = device.find(info->addressRange.address);
  device.next.CmdBindIndexBuffer(commands, place.buffer, place.offset, info->indexType);
}

VKAPI_ATTR void VKAPI_CALL set_restart_index(VkCommandBuffer, uint32_t) {}

VKAPI_ATTR void VKAPI_CALL bind_vertices(VkCommandBuffer commands, uint32_t first, uint32_t count,
                                         const VkBindVertexBuffer3InfoKHR* infos) {
  Device& device = device_of(commands);
  for (uint32_t i = 0; i < count; ++i) {
    const Place place = device.find(infos[i].addressRange.address);
    device.next.CmdBindVertexBuffers(commands, first + i, 1, &place.buffer, &place.offset);
  }
}

// --- transform feedback, conditional rendering and rendering

struct Places {
  Places(Device& device, uint32_t count, const VkBindTransformFeedbackBuffer2InfoEXT* infos) {
    for (uint32_t i = 0; i < count && infos; ++i) {
      const Place place = device.find(infos[i].addressRange.address);
      buffers.at(i) = place.buffer;
      offsets.at(i) = place.offset;
      sizes.at(i) = infos[i].addressRange.size;
    }
  }
  std::array<VkBuffer, kMaxBuffers> buffers{};
  std::array<VkDeviceSize, kMaxBuffers> offsets{}, sizes{};
};

VKAPI_ATTR void VKAPI_CALL bind_feedback(VkCommandBuffer commands, uint32_t first, uint32_t count,
                                         const VkBindTransformFeedbackBuffer2InfoEXT* infos) {
  Device& device = device_of(commands);
  const Places places(device, count, infos);
  device.next.CmdBindTransformFeedbackBuffersEXT(commands, first, count, places.buffers.data(),
                                                 places.offsets.data(), places.sizes.data());
}

template <auto kNext>
VKAPI_ATTR void VKAPI_CALL feedback(VkCommandBuffer commands, uint32_t first, uint32_t count,
                                    const VkBindTransformFeedbackBuffer2InfoEXT* infos) {
  Device& device = device_of(commands);
  const Places places(device, count, infos);
  (device.next.*kNext)(commands, first, count, places.buffers.data(), places.offsets.data());
}

VKAPI_ATTR void VKAPI_CALL begin_condition(VkCommandBuffer commands,
                                           const VkConditionalRenderingBeginInfo2EXT* info) {
  Device& device = device_of(commands);
  const Place place = device.find(info->addressRange.address);
  const VkConditionalRenderingBeginInfoEXT below{
      VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT, nullptr, place.buffer, place.offset,
      info->flags};
  device.next.CmdBeginConditionalRenderingEXT(commands, &below);
}

VKAPI_ATTR void VKAPI_CALL end_rendering(VkCommandBuffer commands, const VkRenderingEndInfoKHR*) {
  device_of(commands).next.CmdEndRendering(commands);
}

// --- transfers

VKAPI_ATTR void VKAPI_CALL copy_memory(VkCommandBuffer commands,
                                       const VkCopyDeviceMemoryInfoKHR* info) {
  Device& device = device_of(commands);
  for (uint32_t i = 0; i < info->regionCount; ++i) {
    const VkDeviceMemoryCopyKHR& region = info->pRegions[i];
    const Place source = device.find(region.srcRange.address);
    const Place target = device.find(region.dstRange.address);
    const VkBufferCopy below{source.offset, target.offset, region.srcRange.size};
    device.next.CmdCopyBuffer(commands, source.buffer, target.buffer, 1, &below);
  }
}

VKAPI_ATTR void VKAPI_CALL update_memory(VkCommandBuffer commands,
                                         const VkDeviceAddressRangeKHR* range,
                                         VkAddressCommandFlagsKHR, VkDeviceSize size,
                                         const void* data) {
  Device& device = device_of(commands);
  const Place place = device.find(range->address);
  device.next.CmdUpdateBuffer(commands, place.buffer, place.offset, size, data);
}

VKAPI_ATTR void VKAPI_CALL fill_memory(VkCommandBuffer commands,
                                       const VkDeviceAddressRangeKHR* range,
                                       VkAddressCommandFlagsKHR, uint32_t data) {
  Device& device = device_of(commands);
  const Place place = device.find(range->address);
  device.next.CmdFillBuffer(commands, place.buffer, place.offset, range->size, data);
}

VKAPI_ATTR void VKAPI_CALL copy_results(VkCommandBuffer commands, VkQueryPool pool, uint32_t first,
                                        uint32_t count, const VkStridedDeviceAddressRangeKHR* range,
                                        VkAddressCommandFlagsKHR, VkQueryResultFlags flags) {
  Device& device = device_of(commands);
  const Place place = device.find(range->address);
  device.next.CmdCopyQueryPoolResults(commands, pool, first, count, place.buffer, place.offset,
                                      range->stride, flags);
}

// The attachments stay as they are.
VKAPI_ATTR void VKAPI_CALL begin_resolve(VkCommandBuffer, const VkBeginCustomResolveInfoEXT*) {}

}  // namespace

void add_command_hooks(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function));
  };
  add("vkCmdBeginConditionalRendering2EXT", begin_condition);
  add("vkCmdBeginCustomResolveEXT", begin_resolve);
  add("vkCmdBeginTransformFeedback2EXT", feedback<&DeviceTable::CmdBeginTransformFeedbackEXT>);
  add("vkCmdBindIndexBuffer3KHR", bind_indices);
  add("vkCmdBindTransformFeedbackBuffers2EXT", bind_feedback);
  add("vkCmdBindVertexBuffers3KHR", bind_vertices);
  add("vkCmdCopyMemoryKHR", copy_memory);
  add("vkCmdCopyQueryPoolResultsToMemoryKHR", copy_results);
  add("vkCmdDispatchIndirect2KHR", dispatch);
  add("vkCmdDrawIndexedIndirect2KHR", indirect<&DeviceTable::CmdDrawIndexedIndirect>);
  add("vkCmdDrawIndexedIndirectCount2KHR",
      indirect_count<&DeviceTable::CmdDrawIndexedIndirectCount>);
  add("vkCmdDrawIndirect2KHR", indirect<&DeviceTable::CmdDrawIndirect>);
  add("vkCmdDrawIndirectByteCount2EXT", byte_count);
  add("vkCmdDrawIndirectCount2KHR", indirect_count<&DeviceTable::CmdDrawIndirectCount>);
  add("vkCmdDrawMeshTasksIndirect2EXT", indirect<&DeviceTable::CmdDrawMeshTasksIndirectEXT>);
  add("vkCmdDrawMeshTasksIndirectCount2EXT",
      indirect_count<&DeviceTable::CmdDrawMeshTasksIndirectCountEXT>);
  add("vkCmdEndRendering2KHR", end_rendering);
  add("vkCmdEndTransformFeedback2EXT", feedback<&DeviceTable::CmdEndTransformFeedbackEXT>);
  add("vkCmdFillMemoryKHR", fill_memory);
  add("vkCmdSetPrimitiveRestartIndexEXT", set_restart_index);
  add("vkCmdUpdateMemoryKHR", update_memory);
  add("vkCreateBuffer", create_buffer);
  add("vkDestroyBuffer", destroy_buffer);
  add("vkGetBufferDeviceAddress", get_address);
  add("vkGetBufferDeviceAddressKHR", get_address);
}

}  // namespace tally::test::newest
