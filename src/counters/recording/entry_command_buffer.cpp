// The lifetime of command pools and command buffers, and the commands that change what action
// commands run with.

#include <algorithm>
#include <type_traits>

#include "counters/layer/entry_points.h"
#include "counters/recording/command_buffer.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

// Null where no feature is enabled: hooks that were queried through vkGetInstanceProcAddr are
// called for every device.
DeviceState* state_of(VkDevice device) { return find_device(device)->state(); }

VkResult create_pool(VkDevice device, const VkCommandPoolCreateInfo* info,
                     const VkAllocationCallbacks* allocator, VkCommandPool* pool) {
  const VkResult result = next_of(device).CreateCommandPool(device, info, allocator, pool);
  DeviceState* state = state_of(device);
  if (result != VK_SUCCESS || !state) return result;
  auto known = std::make_shared<CommandPool>();
  known->is_protected = (info->flags & VK_COMMAND_POOL_CREATE_PROTECTED_BIT) != 0;
  const auto& families = state->context.gpu.queue_families;
  known->computes = info->queueFamilyIndex < families.size() &&
                    (families[info->queueFamilyIndex].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
  state->command_pools.insert(*pool, std::move(known));
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_pool(VkDevice device,
                                                const VkCommandPoolCreateInfo* info,
                                                const VkAllocationCallbacks* allocator,
                                                VkCommandPool* pool) {
  return vk::guarded([&] { return create_pool(device, info, allocator, pool); });
}

void remove_buffers(DeviceState& state, std::span<const VkCommandBuffer> buffers) {
  for (const VkCommandBuffer buffer : buffers) {
    if (buffer == VK_NULL_HANDLE) continue;
    g_command_buffers.erase(buffer);
    // Its records stay with the instrumentation objects.
    if (const auto known = state.command_buffers.take(buffer)) known->reset();
  }
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_pool(VkDevice device, VkCommandPool pool,
                                             const VkAllocationCallbacks* allocator) {
  if (DeviceState* state = state_of(device)) {
    if (const auto known = state->command_pools.take(pool)) remove_buffers(*state, known->buffers);
  }
  next_of(device).DestroyCommandPool(device, pool, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_reset_pool(VkDevice device, VkCommandPool pool,
                                               VkCommandPoolResetFlags flags) {
  if (DeviceState* state = state_of(device)) {
    if (const auto known = state->command_pools.find(pool)) {
      for (const VkCommandBuffer buffer : known->buffers) {
        if (CommandBuffer* commands = find_command_buffer(buffer)) commands->reset();
      }
    }
  }
  return next_of(device).ResetCommandPool(device, pool, flags);
}

VkResult allocate(VkDevice handle, const VkCommandBufferAllocateInfo* info,
                  VkCommandBuffer* buffers) {
  Device& device = *find_device(handle);
  const VkResult result = device.next().AllocateCommandBuffers(handle, info, buffers);
  DeviceState* state = device.state();
  if (result != VK_SUCCESS || !state) return result;
  const auto pool = state->command_pools.find(info->commandPool);
  if (!pool) return result;
  for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
    pool->buffers.push_back(buffers[i]);
    auto added = std::make_shared<CommandBuffer>(
        buffers[i], *state, CommandBuffer::Kind{info->level, pool->is_protected, pool->computes});
    g_command_buffers.insert(buffers[i], added.get());
    state->command_buffers.insert(buffers[i], std::move(added));
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_allocate(VkDevice device,
                                             const VkCommandBufferAllocateInfo* info,
                                             VkCommandBuffer* buffers) {
  return vk::guarded([&] { return allocate(device, info, buffers); });
}

VKAPI_ATTR void VKAPI_CALL hook_free(VkDevice device, VkCommandPool pool, uint32_t count,
                                     const VkCommandBuffer* buffers) {
  if (DeviceState* state = state_of(device)) {
    const std::span freed(buffers, count);
    if (const auto known = state->command_pools.find(pool)) {
      std::erase_if(known->buffers, [&](VkCommandBuffer buffer) {
        return std::ranges::find(freed, buffer) != freed.end();
      });
    }
    remove_buffers(*state, freed);
  }
  next_of(device).FreeCommandBuffers(device, pool, count, buffers);
}

bool inherits_heaps(const VkCommandBufferInheritanceInfo& info) {
  const auto* heaps = vk::find_in_chain<VkCommandBufferInheritanceDescriptorHeapInfoEXT>(
      info.pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_DESCRIPTOR_HEAP_INFO_EXT);
  return heaps && (heaps->pSamplerHeapBindInfo || heaps->pResourceHeapBindInfo);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_begin(VkCommandBuffer commands,
                                          const VkCommandBufferBeginInfo* info) {
  CommandBuffer* state = find_command_buffer(commands);
  if (state) state->begin(info->flags);
  if (state && state->is_secondary() && info->pInheritanceInfo) {
    if (inherits_heaps(*info->pInheritanceInfo)) {
      state->bound().set_descriptors(DescriptorKind::Heaps);
    }
    return vk::guarded([&] { return begin_secondary(commands, *state, *info); });
  }
  const VkResult result = next_of(commands).BeginCommandBuffer(commands, info);
  if (state && result == VK_SUCCESS) state->bound().push_guard();
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_reset(VkCommandBuffer commands,
                                          VkCommandBufferResetFlags flags) {
  if (CommandBuffer* state = find_command_buffer(commands)) state->reset();
  return next_of(commands).ResetCommandBuffer(commands, flags);
}

VkResult end(VkCommandBuffer commands) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) return next_of(commands).EndCommandBuffer(commands);
  if (state->instrumented()) {
    state->device().context.messages.misuse(
        "VUID-vkEndCommandBuffer-commandBuffer-12372", VK_OBJECT_TYPE_COMMAND_BUFFER,
        vk::handle_bits(commands), "vkEndCommandBuffer(): shader instrumentation is still active");
  }
  vk::guarded_void([&] { state->end(); });
  const VkResult result = state->next().EndCommandBuffer(commands);
  return result >= VK_SUCCESS && state->lost_pipeline() ? VK_ERROR_OUT_OF_HOST_MEMORY : result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_end(VkCommandBuffer commands) {
  return vk::guarded([&] { return end(commands); });
}

void execute(VkCommandBuffer commands, uint32_t count, const VkCommandBuffer* secondaries) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) {
    next_of(commands).CmdExecuteCommands(commands, count, secondaries);
    return;
  }
  if (state->instrumented()) {
    state->device().context.messages.misuse(
        "VUID-vkCmdExecuteCommands-commandBuffer-12373", VK_OBJECT_TYPE_COMMAND_BUFFER,
        vk::handle_bits(commands), "vkCmdExecuteCommands(): shader instrumentation is active");
  }
  state->leave_subpass();
  state->next().CmdExecuteCommands(commands, count, secondaries);
  state->bound().invalidate_pipelines();
  state->bound().invalidate_guard();
  for (uint32_t i = 0; i < count; ++i) {
    const auto secondary = state->device().command_buffers.find(secondaries[i]);
    if (secondary) state->execute(secondary);
  }
}

VKAPI_ATTR void VKAPI_CALL hook_execute(VkCommandBuffer commands, uint32_t count,
                                        const VkCommandBuffer* secondaries) {
  vk::guarded_void([&] { execute(commands, count, secondaries); });
}

VKAPI_ATTR void VKAPI_CALL hook_bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                              VkPipeline pipeline) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->count_command(CommandMetric::PipelineBinds);
    state->bound().bind_pipeline(point, pipeline);
  } else {
    next_of(commands).CmdBindPipeline(commands, point, pipeline);
  }
}

// The layer has no variants of shader groups.
VKAPI_ATTR void VKAPI_CALL hook_bind_shader_group(VkCommandBuffer commands,
                                                  VkPipelineBindPoint point, VkPipeline pipeline,
                                                  uint32_t group) {
  if (CommandBuffer* state = find_command_buffer(commands))
    state->bound().invalidate_pipeline(point);
  next_of(commands).CmdBindPipelineShaderGroupNV(commands, point, pipeline, group);
}

// Shader objects unbind the pipeline of their bind point, and a pipeline unbinds them.
VKAPI_ATTR void VKAPI_CALL hook_bind_shaders(VkCommandBuffer commands, uint32_t count,
                                             const VkShaderStageFlagBits* stages,
                                             const VkShaderEXT* shaders) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) {
    next_of(commands).CmdBindShadersEXT(commands, count, stages, shaders);
    return;
  }
  vk::guarded_void([&] { state->bound().bind_shaders(count, stages, shaders); },
                   [&](VkResult error) { state->fail(error); });
}

bool inspects_constants(const CommandBuffer* state) {
  return state && state->device().objects.inspects_constants.load(std::memory_order_relaxed);
}

VKAPI_ATTR void VKAPI_CALL hook_push_constants(VkCommandBuffer commands, VkPipelineLayout layout,
                                               VkShaderStageFlags stages, uint32_t offset,
                                               uint32_t size, const void* values) {
  CommandBuffer* state = find_command_buffer(commands);
  if (state) state->bound().set_descriptors(DescriptorKind::Sets);
  if (state) state->bound().invalidate_pointer(layout, offset + size);
  if (state) state->count_command(CommandMetric::ConstantUpdates);
  if (inspects_constants(state))
    stages = state->bound().note_constants(layout, stages, offset, size, values);
  (state ? state->next() : next_of(commands))
      .CmdPushConstants(commands, layout, stages, offset, size, values);
}

VKAPI_ATTR void VKAPI_CALL hook_push_constants2(VkCommandBuffer commands,
                                                const VkPushConstantsInfoKHR* info) {
  CommandBuffer* state = find_command_buffer(commands);
  if (state) state->bound().set_descriptors(DescriptorKind::Sets);
  if (state) state->bound().invalidate_pointer(info->layout, info->offset + info->size);
  if (state) state->count_command(CommandMetric::ConstantUpdates);
  VkPushConstantsInfoKHR widened = *info;
  if (inspects_constants(state)) {
    widened.stageFlags = state->bound().note_constants(info->layout, info->stageFlags, info->offset,
                                                       info->size, info->pValues);
  }
  (state ? state->next() : next_of(commands)).CmdPushConstants2(commands, &widened);
}

VKAPI_ATTR void VKAPI_CALL hook_begin_transform_feedback(VkCommandBuffer commands, uint32_t first,
                                                         uint32_t count, const VkBuffer* buffers,
                                                         const VkDeviceSize* offsets) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    vk::guarded_void(
        [&] {
          state->transform_feedback().begin({first, count, buffers, offsets});
        },
        [&](VkResult error) { state->fail(error); });
  }
  next_of(commands).CmdBeginTransformFeedbackEXT(commands, first, count, buffers, offsets);
}

VKAPI_ATTR void VKAPI_CALL hook_end_transform_feedback(VkCommandBuffer commands, uint32_t first,
                                                       uint32_t count, const VkBuffer* buffers,
                                                       const VkDeviceSize* offsets) {
  next_of(commands).CmdEndTransformFeedbackEXT(commands, first, count, buffers, offsets);
  if (CommandBuffer* state = find_command_buffer(commands)) state->transform_feedback().end();
}

VKAPI_ATTR void VKAPI_CALL
hook_begin_transform_feedback_2(VkCommandBuffer commands, uint32_t first, uint32_t count,
                                const VkBindTransformFeedbackBuffer2InfoEXT* infos) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    vk::guarded_void(
        [&] {
          state->transform_feedback().begin({.first = first, .count = count, .infos = infos});
        },
        [&](VkResult error) { state->fail(error); });
  }
  next_of(commands).CmdBeginTransformFeedback2EXT(commands, first, count, infos);
}

VKAPI_ATTR void VKAPI_CALL
hook_end_transform_feedback_2(VkCommandBuffer commands, uint32_t first, uint32_t count,
                              const VkBindTransformFeedbackBuffer2InfoEXT* infos) {
  next_of(commands).CmdEndTransformFeedback2EXT(commands, first, count, infos);
  if (CommandBuffer* state = find_command_buffer(commands)) state->transform_feedback().end();
}

}  // namespace

void add_command_buffer_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Instrumentation));
  };
  add("vkAllocateCommandBuffers", hook_allocate);
  add("vkBeginCommandBuffer", hook_begin);
  add("vkCmdBeginTransformFeedbackEXT", hook_begin_transform_feedback);
  add("vkCmdBeginTransformFeedback2EXT", hook_begin_transform_feedback_2);
  add("vkCmdBindPipeline", hook_bind_pipeline);
  add("vkCmdBindPipelineShaderGroupNV", hook_bind_shader_group);
  add("vkCmdBindShadersEXT", hook_bind_shaders);
  add("vkCmdEndTransformFeedbackEXT", hook_end_transform_feedback);
  add("vkCmdEndTransformFeedback2EXT", hook_end_transform_feedback_2);
  add("vkCmdExecuteCommands", hook_execute);
  add("vkCmdPushConstants", hook_push_constants);
  add("vkCmdPushConstants2", hook_push_constants2);
  add("vkCmdPushConstants2KHR", hook_push_constants2);
  add("vkCreateCommandPool", hook_create_pool);
  add("vkDestroyCommandPool", hook_destroy_pool);
  add("vkEndCommandBuffer", hook_end);
  add("vkFreeCommandBuffers", hook_free);
  add("vkResetCommandBuffer", hook_reset);
  add("vkResetCommandPool", hook_reset_pool);
}

// Dynamic state that primitive assembly, the counting of samples and the choice of variants depend
// on.

namespace {

template <typename Fact>
Fact& fact_in(DynamicDrawFacts& facts, Fact DynamicDrawFacts::*fact) {
  return facts.*fact;
}
template <typename Fact>
Fact& fact_in(DynamicDrawFacts& facts, Fact SampleFacts::*fact) {
  return facts.samples.*fact;
}

// The hook of the command whose function pointer is `kNext`. It sets `kFact`.
template <auto kFact, auto kNext, typename Value>
VKAPI_ATTR void VKAPI_CALL hook_set(VkCommandBuffer commands, Value value) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    auto& fact = fact_in(state->bound().dynamic_facts(), kFact);
    fact = static_cast<std::remove_reference_t<decltype(fact)>>(value);
  }
  (next_of(commands).*kNext)(commands, value);
}

uint32_t bytes_of(VkIndexType type) {
  switch (type) {
    case VK_INDEX_TYPE_UINT8_EXT:
      return 1;
    case VK_INDEX_TYPE_UINT16:
      return 2;
    default:
      return 4;
  }
}

void note_indices(VkCommandBuffer commands, const NamedMemory& memory, VkDeviceSize size,
                  VkIndexType type) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) return;
  state->count_command(CommandMetric::IndexBufferBinds);
  const uint32_t bytes = bytes_of(type);
  state->bound().bind_indices({memory, memory.is_null() ? 0 : size, bytes, default_restart(bytes)});
}

VKAPI_ATTR void VKAPI_CALL hook_bind_indices(VkCommandBuffer commands, VkBuffer buffer,
                                             VkDeviceSize offset, VkIndexType type) {
  note_indices(commands, {buffer, offset}, VK_WHOLE_SIZE, type);
  next_of(commands).CmdBindIndexBuffer(commands, buffer, offset, type);
}

VKAPI_ATTR void VKAPI_CALL hook_bind_indices_2(VkCommandBuffer commands, VkBuffer buffer,
                                               VkDeviceSize offset, VkDeviceSize size,
                                               VkIndexType type) {
  note_indices(commands, {buffer, offset}, size, type);
  next_of(commands).CmdBindIndexBuffer2(commands, buffer, offset, size, type);
}

VKAPI_ATTR void VKAPI_CALL hook_bind_indices_3(VkCommandBuffer commands,
                                               const VkBindIndexBuffer3InfoKHR* info) {
  const VkDeviceAddressRangeKHR& range = info->addressRange;
  note_indices(commands, {.address = range.address, .flags = info->addressFlags}, range.size,
               info->indexType);
  next_of(commands).CmdBindIndexBuffer3KHR(commands, info);
}

VKAPI_ATTR void VKAPI_CALL hook_set_alpha_to_coverage(VkCommandBuffer commands, VkBool32 enabled) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->bound().set_alpha_to_coverage(enabled == VK_TRUE);
  }
  next_of(commands).CmdSetAlphaToCoverageEnableEXT(commands, enabled);
}

VKAPI_ATTR void VKAPI_CALL hook_set_restart_index(VkCommandBuffer commands, uint32_t index) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->bound().set_restart_index(index);
  }
  next_of(commands).CmdSetPrimitiveRestartIndexEXT(commands, index);
}

}  // namespace

void add_draw_state_entry_points(Hooks& hooks) {
  using Facts = DynamicDrawFacts;
  using Table = DeviceTable;
  constexpr auto* kSetPatch =
      hook_set<&Facts::patch_control_points, &Table::CmdSetPatchControlPointsEXT, uint32_t>;
  constexpr auto* kSetRestart =
      hook_set<&Facts::restarts, &Table::CmdSetPrimitiveRestartEnable, VkBool32>;
  constexpr auto* kSetTopology =
      hook_set<&Facts::topology, &Table::CmdSetPrimitiveTopology, VkPrimitiveTopology>;
  constexpr auto* kSetDiscard =
      hook_set<&Facts::rasterizer_discard, &Table::CmdSetRasterizerDiscardEnable, VkBool32>;
  using Samples = SampleFacts;
  constexpr auto* kSetSamples =
      hook_set<&Samples::samples, &Table::CmdSetRasterizationSamplesEXT, VkSampleCountFlagBits>;
  constexpr auto* kSetDepthTest =
      hook_set<&Samples::depth_test, &Table::CmdSetDepthTestEnable, VkBool32>;
  constexpr auto* kSetCompare =
      hook_set<&Samples::depth_compare, &Table::CmdSetDepthCompareOp, VkCompareOp>;
  constexpr auto* kSetBounds =
      hook_set<&Samples::depth_bounds_test, &Table::CmdSetDepthBoundsTestEnable, VkBool32>;
  constexpr auto* kSetStencil =
      hook_set<&Samples::stencil_test, &Table::CmdSetStencilTestEnable, VkBool32>;
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Queries));
  };
  hooks.push_back(make_hook("vkCmdSetAlphaToCoverageEnableEXT", hook_set_alpha_to_coverage,
                            HookCondition::Instrumentation));
  add("vkCmdBindIndexBuffer", hook_bind_indices);
  add("vkCmdBindIndexBuffer2", hook_bind_indices_2);
  add("vkCmdBindIndexBuffer2KHR", hook_bind_indices_2);
  add("vkCmdBindIndexBuffer3KHR", hook_bind_indices_3);
  add("vkCmdSetDepthBoundsTestEnable", kSetBounds);
  add("vkCmdSetDepthBoundsTestEnableEXT", kSetBounds);
  add("vkCmdSetDepthCompareOp", kSetCompare);
  add("vkCmdSetDepthCompareOpEXT", kSetCompare);
  add("vkCmdSetDepthTestEnable", kSetDepthTest);
  add("vkCmdSetDepthTestEnableEXT", kSetDepthTest);
  add("vkCmdSetPatchControlPointsEXT", kSetPatch);
  add("vkCmdSetPrimitiveRestartEnable", kSetRestart);
  add("vkCmdSetPrimitiveRestartEnableEXT", kSetRestart);
  add("vkCmdSetPrimitiveRestartIndexEXT", hook_set_restart_index);
  add("vkCmdSetPrimitiveTopology", kSetTopology);
  add("vkCmdSetPrimitiveTopologyEXT", kSetTopology);
  add("vkCmdSetRasterizerDiscardEnable", kSetDiscard);
  add("vkCmdSetRasterizerDiscardEnableEXT", kSetDiscard);
  add("vkCmdSetRasterizationSamplesEXT", kSetSamples);
  add("vkCmdSetStencilTestEnable", kSetStencil);
  add("vkCmdSetStencilTestEnableEXT", kSetStencil);
}

// VK_EXT_descriptor_heap: commands that bind heaps and update push data. They invalidate descriptor
// sets and push constants, and the commands that set those invalidate heaps and push data.

namespace {

CommandBuffer* note(VkCommandBuffer commands, CommandMetric metric) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) return nullptr;
  state->count_command(metric);
  state->bound().set_descriptors(DescriptorKind::Heaps);
  return state;
}

VKAPI_ATTR void VKAPI_CALL hook_bind_resource_heap(VkCommandBuffer commands,
                                                   const VkBindHeapInfoEXT* info) {
  note(commands, CommandMetric::DescriptorBinds);
  next_of(commands).CmdBindResourceHeapEXT(commands, info);
}

VKAPI_ATTR void VKAPI_CALL hook_bind_sampler_heap(VkCommandBuffer commands,
                                                  const VkBindHeapInfoEXT* info) {
  note(commands, CommandMetric::DescriptorBinds);
  next_of(commands).CmdBindSamplerHeapEXT(commands, info);
}

VKAPI_ATTR void VKAPI_CALL hook_push_data(VkCommandBuffer commands, const VkPushDataInfoEXT* info) {
  CommandBuffer* state = note(commands, CommandMetric::ConstantUpdates);
  if (state) state->bound().push_data(*info);
  next_of(commands).CmdPushDataEXT(commands, info);
}

// Counted are the commands that set the offsets in the buffers.
VKAPI_ATTR void VKAPI_CALL hook_bind_descriptor_buffers(
    VkCommandBuffer commands, uint32_t count, const VkDescriptorBufferBindingInfoEXT* infos) {
  if (CommandBuffer* state = find_command_buffer(commands)) {
    state->bound().set_descriptors(DescriptorKind::Sets);
  }
  next_of(commands).CmdBindDescriptorBuffersEXT(commands, count, infos);
}

}  // namespace

void add_descriptor_heap_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Heaps));
  };
  add("vkCmdBindDescriptorBuffersEXT", hook_bind_descriptor_buffers);
  add("vkCmdBindResourceHeapEXT", hook_bind_resource_heap);
  add("vkCmdBindSamplerHeapEXT", hook_bind_sampler_heap);
  add("vkCmdPushDataEXT", hook_push_data);
}

}  // namespace tally::counters
