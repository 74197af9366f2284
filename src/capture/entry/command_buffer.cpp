// Command pools and command buffers, their bindings, secondaries and labels.
#include <algorithm>

#include "capture/entry/entry.h"
#include "vk/boundary.h"

namespace tally::capture {
namespace {

template <typename Body>
void with_state(VkCommandBuffer command_buffer, Body body) noexcept {
  CommandBuffer* state = find_command_buffer(command_buffer);
  if (state) vk::guarded_void([&] { body(*state); });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateCommandPool(VkDevice handle,
                                                 const VkCommandPoolCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator,
                                                 VkCommandPool* pool) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().CreateCommandPool(handle, info, allocator, pool);
    if (result == VK_SUCCESS) device->add_pool(*pool, *info);
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyCommandPool(VkDevice handle, VkCommandPool pool,
                                              const VkAllocationCallbacks* allocator) {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    const auto kept_until_freed = device->take_pool(pool);
    device->table().DestroyCommandPool(handle, pool, allocator);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL ResetCommandPool(VkDevice handle, VkCommandPool pool,
                                                VkCommandPoolResetFlags flags) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().ResetCommandPool(handle, pool, flags);
    if (const auto state = device->pool(pool)) {
      for (const VkCommandBuffer buffer : state->buffers) {
        with_state(buffer, [](CommandBuffer& one) { one.pool_was_reset(); });
      }
    }
    return result;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice handle,
                                                      const VkCommandBufferAllocateInfo* info,
                                                      VkCommandBuffer* buffers) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().AllocateCommandBuffers(handle, info, buffers);
    if (result != VK_SUCCESS) return result;
    // Every command buffer has a state because the hooks of its commands rely on it.
    const VkResult added = vk::guarded([&] {
      device->add_command_buffers(*info, buffers);
      return VK_SUCCESS;
    });
    if (added != VK_SUCCESS) {
      device->table().FreeCommandBuffers(handle, info->commandPool, info->commandBufferCount,
                                         buffers);
      std::fill_n(buffers, info->commandBufferCount, VkCommandBuffer{VK_NULL_HANDLE});
    }
    return added;
  });
}

VKAPI_ATTR void VKAPI_CALL FreeCommandBuffers(VkDevice handle, VkCommandPool pool, uint32_t count,
                                              const VkCommandBuffer* buffers) {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    const auto kept_until_freed = device->take_command_buffers(pool, count, buffers);
    for (const auto& one : kept_until_freed) {
      if (one) one->free_copy();
    }
    device->table().FreeCommandBuffers(handle, pool, count, buffers);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer b,
                                                  const VkCommandBufferBeginInfo* info) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return VK_ERROR_UNKNOWN;
  const VkResult result = state->table().BeginCommandBuffer(b, info);
  if (result == VK_SUCCESS) with_state(b, [&](CommandBuffer& one) { one.begin(*info); });
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer b) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return VK_ERROR_UNKNOWN;
  const ReasonCollector reasons(ReasonCollector::kCommands);
  with_state(b, [](CommandBuffer& one) { one.end(); });
  const VkResult result = state->table().EndCommandBuffer(b);
  with_state(b, [&](CommandBuffer& one) {
    one.after_end();
    if (!reasons.text().empty()) one.note_uncounted(reasons.text());
  });
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL ResetCommandBuffer(VkCommandBuffer b,
                                                  VkCommandBufferResetFlags flags) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return VK_ERROR_UNKNOWN;
  const VkResult result = state->table().ResetCommandBuffer(b, flags);
  with_state(b, [&](CommandBuffer& one) { one.reset(flags); });
  return result;
}

VKAPI_ATTR void VKAPI_CALL CmdBindPipeline(VkCommandBuffer b, VkPipelineBindPoint bind_point,
                                           VkPipeline pipeline) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  vk::guarded_void([&] { state->before_bind(bind_point, pipeline); });
  state->record(
      [&](VkCommandBuffer to, bool) { state->table().CmdBindPipeline(to, bind_point, pipeline); });
}

// The groups of a pipeline are not counted.
VKAPI_ATTR void VKAPI_CALL CmdBindPipelineShaderGroupNV(VkCommandBuffer b,
                                                        VkPipelineBindPoint bind_point,
                                                        VkPipeline pipeline, uint32_t group) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  vk::guarded_void([&] {
    if (state->bound()) state->bound()->bind_unknown(bind_point);
  });
  state->record([&](VkCommandBuffer to, bool) {
    state->table().CmdBindPipelineShaderGroupNV(to, bind_point, pipeline, group);
  });
}

VKAPI_ATTR void VKAPI_CALL CmdExecuteCommands(VkCommandBuffer b, uint32_t count,
                                              const VkCommandBuffer* secondaries) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  bool known = false;
  vk::guarded_void([&] {
    if (!state->contents()) return;
    state->before_execute({secondaries, count});
    const std::shared_ptr<Device> device = Device::find(b);
    for (uint32_t i = 0; i < count; ++i) {
      const CommandBuffer* secondary = device->find_command_buffer(secondaries[i]);
      if (secondary) state->execute(i, *secondary);
    }
    known = true;
  });
  state->record([&](VkCommandBuffer to, bool counts) {
    state->table().CmdExecuteCommands(
        to, count, counts && known ? state->counting_secondaries().data() : secondaries);
  });
}

VKAPI_ATTR void VKAPI_CALL CmdDebugMarkerBeginEXT(VkCommandBuffer b,
                                                  const VkDebugMarkerMarkerInfoEXT* info) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  vk::guarded_void([&] { state->push_label(info->pMarkerName); });
  state->record([&](VkCommandBuffer to, bool) { state->table().CmdDebugMarkerBeginEXT(to, info); });
}

VKAPI_ATTR void VKAPI_CALL CmdDebugMarkerEndEXT(VkCommandBuffer b) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  vk::guarded_void([&] { state->pop_label(); });
  state->record([&](VkCommandBuffer to, bool) { state->table().CmdDebugMarkerEndEXT(to); });
}

}  // namespace

std::span<const DeviceHook> command_buffer_hooks() {
#define TALLY_ROW(name) device_hook<&DeviceTable::name>("vk" #name, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(CreateCommandPool),
      TALLY_ROW(DestroyCommandPool),
      TALLY_ROW(ResetCommandPool),
      TALLY_ROW(AllocateCommandBuffers),
      TALLY_ROW(FreeCommandBuffers),
      TALLY_ROW(BeginCommandBuffer),
      TALLY_ROW(EndCommandBuffer),
      TALLY_ROW(ResetCommandBuffer),
      TALLY_ROW(CmdBindPipeline),
      TALLY_ROW(CmdExecuteCommands),
      TALLY_ROW(CmdDebugMarkerBeginEXT),
      TALLY_ROW(CmdDebugMarkerEndEXT),
      TALLY_ROW(CmdBindPipelineShaderGroupNV),
  };
#undef TALLY_ROW
  return rows;
}

}  // namespace tally::capture
