// Command pools and command buffers, their bindings, secondaries and labels.

#include <algorithm>
#include <type_traits>

#include "base/log.h"
#include "capture/entry/entry.h"

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
    TALLY_TRY(device->table().AllocateCommandBuffers(handle, info, buffers));
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

// Commands that set how vertices become primitives.
template <auto Member, typename Value>
void set_assembly(VkCommandBuffer b, Value value, const PrimitiveAssembly& set) noexcept {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  if (BoundPipelines* bound = state->bound()) bound->set_assembly(set);
  state->record([&](VkCommandBuffer to, bool) { (state->table().*Member)(to, value); });
}

VKAPI_ATTR void VKAPI_CALL CmdSetPrimitiveTopology(VkCommandBuffer b,
                                                   VkPrimitiveTopology topology) {
  set_assembly<&DeviceTable::CmdSetPrimitiveTopology>(b, topology, {.topology = topology});
}

VKAPI_ATTR void VKAPI_CALL CmdSetPrimitiveRestartEnable(VkCommandBuffer b, VkBool32 enable) {
  set_assembly<&DeviceTable::CmdSetPrimitiveRestartEnable>(b, enable,
                                                           {.restart = enable == VK_TRUE});
}

VKAPI_ATTR void VKAPI_CALL CmdSetPatchControlPointsEXT(VkCommandBuffer b, uint32_t points) {
  set_assembly<&DeviceTable::CmdSetPatchControlPointsEXT>(b, points,
                                                          {.patch_control_points = points});
}

// A struct that extends the command may choose a bank (VK_NV_push_constant_bank).
void note_push(CommandBuffer& state, bool is_extended, VkShaderStageFlags stages, uint32_t offset,
               uint32_t size, const void* values) {
  if (!is_extended && (stages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) {
    state.push(offset, {static_cast<const std::byte*>(values), size});
  } else {
    state.push_unknown(offset, size);
  }
}

VKAPI_ATTR void VKAPI_CALL CmdPushConstants(VkCommandBuffer b, VkPipelineLayout layout,
                                            VkShaderStageFlags stages, uint32_t offset,
                                            uint32_t size, const void* values) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  note_push(*state, false, stages, offset, size, values);
  state->record([&](VkCommandBuffer to, bool) {
    state->table().CmdPushConstants(to, layout, stages, offset, size, values);
  });
}

VKAPI_ATTR void VKAPI_CALL CmdPushConstants2KHR(VkCommandBuffer b,
                                                const VkPushConstantsInfoKHR* info) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  note_push(*state, info->pNext != nullptr, info->stageFlags, info->offset, info->size,
            info->pValues);
  state->record([&](VkCommandBuffer to, bool) { state->table().CmdPushConstants2KHR(to, info); });
}

VKAPI_ATTR void VKAPI_CALL CmdPushDataEXT(VkCommandBuffer b, const VkPushDataInfoEXT* info) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  note_push(*state, info->pNext != nullptr, VK_SHADER_STAGE_COMPUTE_BIT, info->offset,
            static_cast<uint32_t>(info->data.size), info->data.address);
  if (BoundSets* sets = state->sets()) sets->reset();
  state->record([&](VkCommandBuffer to, bool) { state->table().CmdPushDataEXT(to, info); });
}

// Both begins of conditional rendering.
template <auto Member, typename Info>
VKAPI_ATTR void VKAPI_CALL begin_condition(VkCommandBuffer b, const Info* info) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  state->set_conditional(true);
  state->record([&](VkCommandBuffer to, bool) { (state->table().*Member)(to, info); });
}

VKAPI_ATTR void VKAPI_CALL CmdEndConditionalRenderingEXT(VkCommandBuffer b) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  state->set_conditional(false);
  state->record(
      [&](VkCommandBuffer to, bool) { state->table().CmdEndConditionalRenderingEXT(to); });
}

VKAPI_ATTR void VKAPI_CALL CmdExecuteCommands(VkCommandBuffer b, uint32_t count,
                                              const VkCommandBuffer* secondaries) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  bool known = false;
  vk::guarded_void([&] {
    if (!state->contents()) return;
    state->before_execute({secondaries, count});
    for (uint32_t i = 0; i < count; ++i) {
      const CommandBuffer* secondary = find_command_buffer(secondaries[i]);
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
#define TALLY_CONDITION(name) \
  device_hook<&DeviceTable::name>("vk" #name, PFN_vk##name(begin_condition<&DeviceTable::name>))
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
      TALLY_ROW(CmdPushConstants),
      TALLY_ROW(CmdPushConstants2KHR),
      device_hook<&DeviceTable::CmdPushConstants2KHR>("vkCmdPushConstants2", CmdPushConstants2KHR),
      TALLY_ROW(CmdPushDataEXT),
      TALLY_CONDITION(CmdBeginConditionalRenderingEXT),
      TALLY_CONDITION(CmdBeginConditionalRendering2EXT),
      TALLY_ROW(CmdEndConditionalRenderingEXT),
      TALLY_ROW(CmdSetPatchControlPointsEXT),
      TALLY_ROW(CmdSetPrimitiveRestartEnable),
      device_hook<&DeviceTable::CmdSetPrimitiveRestartEnable>("vkCmdSetPrimitiveRestartEnableEXT",
                                                              CmdSetPrimitiveRestartEnable),
      TALLY_ROW(CmdSetPrimitiveTopology),
      device_hook<&DeviceTable::CmdSetPrimitiveTopology>("vkCmdSetPrimitiveTopologyEXT",
                                                         CmdSetPrimitiveTopology),
  };
#undef TALLY_ROW
#undef TALLY_CONDITION
  return rows;
}

// Render passes and dynamic rendering.

namespace {

// Runs the hook around calls of the next layer: `call(next, command buffer, whether it is listed)`.
// They always happen.
template <typename Before, typename Call, typename After>
void around(VkCommandBuffer command_buffer, Before before, Call call, After after) noexcept {
  CommandBuffer* state = find_command_buffer(command_buffer);
  if (!state) return;
  vk::guarded_void([&] { before(*state); });
  state->record([&](VkCommandBuffer to, bool listed) { call(state->table(), to, listed); });
  vk::guarded_void([&] { after(*state); });
}

// The same for the begin of a pass, which the layer below may refuse to count by region.
template <typename Before, typename Call>
void begin(VkCommandBuffer command_buffer, Before before, Call call) noexcept {
  const ReasonCollector reasons(ReasonCollector::kPass);
  around(command_buffer, before, call, [&](CommandBuffer& state) {
    if (!reasons.text().empty()) state.refuse_regions(reasons.text());
  });
}

void nothing(CommandBuffer&) {}

template <typename Info>
void ask_for_regions(const CommandBuffer& state, RegionBegin<Info>& begin) {
  if (const RecordedRegions* regions = state.regions())
    begin.ask(state.context().regions(), *regions);
}

VKAPI_ATTR void VKAPI_CALL CmdBeginRenderPass(VkCommandBuffer b, const VkRenderPassBeginInfo* info,
                                              VkSubpassContents contents) {
  RegionBegin regions(*info);
  begin(
      b,
      [&](CommandBuffer& state) {
        state.before_begin_pass(*info, contents);
        ask_for_regions(state, regions);
      },
      [&](const DeviceTable& next, VkCommandBuffer to, bool listed) {
        next.CmdBeginRenderPass(to, listed ? regions.info() : info, contents);
      });
}

VKAPI_ATTR void VKAPI_CALL CmdBeginRenderPass2(VkCommandBuffer b, const VkRenderPassBeginInfo* info,
                                               const VkSubpassBeginInfo* subpass) {
  RegionBegin regions(*info);
  begin(
      b,
      [&](CommandBuffer& state) {
        state.before_begin_pass(*info, subpass->contents);
        ask_for_regions(state, regions);
      },
      [&](const DeviceTable& next, VkCommandBuffer to, bool listed) {
        next.CmdBeginRenderPass2(to, listed ? regions.info() : info, subpass);
      });
}

VKAPI_ATTR void VKAPI_CALL CmdNextSubpass(VkCommandBuffer b, VkSubpassContents contents) {
  around(
      b, [&](CommandBuffer& state) { state.before_next_subpass(contents); },
      [&](const DeviceTable& next, VkCommandBuffer to, bool) { next.CmdNextSubpass(to, contents); },
      nothing);
}

VKAPI_ATTR void VKAPI_CALL CmdNextSubpass2(VkCommandBuffer b, const VkSubpassBeginInfo* begin,
                                           const VkSubpassEndInfo* end) {
  around(
      b, [&](CommandBuffer& state) { state.before_next_subpass(begin->contents); },
      [&](const DeviceTable& next, VkCommandBuffer to, bool) {
        next.CmdNextSubpass2(to, begin, end);
      },
      nothing);
}

VKAPI_ATTR void VKAPI_CALL CmdEndRenderPass(VkCommandBuffer b) {
  around(
      b, [](CommandBuffer& state) { state.before_end_pass(); },
      [&](const DeviceTable& next, VkCommandBuffer to, bool) { next.CmdEndRenderPass(to); },
      [](CommandBuffer& state) { state.after_end_pass(); });
}

VKAPI_ATTR void VKAPI_CALL CmdEndRenderPass2(VkCommandBuffer b, const VkSubpassEndInfo* end) {
  around(
      b, [](CommandBuffer& state) { state.before_end_pass(); },
      [&](const DeviceTable& next, VkCommandBuffer to, bool) { next.CmdEndRenderPass2(to, end); },
      [](CommandBuffer& state) { state.after_end_pass(); });
}

VKAPI_ATTR void VKAPI_CALL CmdBeginRendering(VkCommandBuffer b, const VkRenderingInfo* info) {
  RegionBegin regions(*info);
  begin(
      b,
      [&](CommandBuffer& state) {
        state.before_begin_rendering(*info);
        ask_for_regions(state, regions);
      },
      [&](const DeviceTable& next, VkCommandBuffer to, bool listed) {
        next.CmdBeginRendering(to, listed ? regions.info() : info);
      });
}

VKAPI_ATTR void VKAPI_CALL CmdEndRendering(VkCommandBuffer b) {
  around(
      b, [](CommandBuffer& state) { state.before_end_rendering(); },
      [&](const DeviceTable& next, VkCommandBuffer to, bool) { next.CmdEndRendering(to); },
      [](CommandBuffer& state) { state.after_end_rendering(); });
}

// The end info's type is named after one extension or another.
template <auto Member, typename EndInfo>
VKAPI_ATTR void VKAPI_CALL end_rendering_2(VkCommandBuffer b, const EndInfo* info) {
  around(
      b, [](CommandBuffer& state) { state.before_end_rendering(); },
      [&](const DeviceTable& next, VkCommandBuffer to, bool) { (next.*Member)(to, info); },
      [](CommandBuffer& state) { state.after_end_rendering(); });
}

}  // namespace

std::span<const DeviceHook> pass_hooks() {
  const PFN_vkCmdEndRendering2KHR end_khr = end_rendering_2<&DeviceTable::CmdEndRendering2KHR>;
  const PFN_vkCmdEndRendering2EXT end_ext = end_rendering_2<&DeviceTable::CmdEndRendering2EXT>;
#define TALLY_ROW(name, suffix) device_hook<&DeviceTable::name>("vk" #name suffix, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(CmdBeginRenderPass, ""),
      TALLY_ROW(CmdBeginRenderPass2, ""),
      TALLY_ROW(CmdBeginRenderPass2, "KHR"),
      TALLY_ROW(CmdNextSubpass, ""),
      TALLY_ROW(CmdNextSubpass2, ""),
      TALLY_ROW(CmdNextSubpass2, "KHR"),
      TALLY_ROW(CmdEndRenderPass, ""),
      TALLY_ROW(CmdEndRenderPass2, ""),
      TALLY_ROW(CmdEndRenderPass2, "KHR"),
      TALLY_ROW(CmdBeginRendering, ""),
      TALLY_ROW(CmdBeginRendering, "KHR"),
      TALLY_ROW(CmdEndRendering, ""),
      TALLY_ROW(CmdEndRendering, "KHR"),
      device_hook<&DeviceTable::CmdEndRendering2KHR>("vkCmdEndRendering2KHR", end_khr),
      device_hook<&DeviceTable::CmdEndRendering2EXT>("vkCmdEndRendering2EXT", end_ext),
  };
#undef TALLY_ROW
  return rows;
}

// The commands that the layer hooks for no other reason than that command buffers are recorded
// twice, so they go to both, or that they end what a timestamp may stand for.

namespace {

// True if the GPU does more for the command than to change its state, or to wait for earlier
// commands.
constexpr bool is_work(std::string_view name) {
  constexpr std::string_view kStates[] = {"vkCmdBind",
                                          "vkCmdPush",
                                          "vkCmdSet",
                                          "vkCmdPipelineBarrier",
                                          "vkCmdBeginDebugUtilsLabel",
                                          "vkCmdEndDebugUtilsLabel",
                                          "vkCmdInsertDebugUtilsLabel",
                                          "vkCmdDebugMarker",
                                          "vkCmdBeginConditionalRendering",
                                          "vkCmdEndConditionalRendering"};
  if (name.starts_with("vkCmdSetEvent")) return true;
  return std::ranges::none_of(kStates, [&](auto state) { return name.starts_with(state); });
}

constexpr uint32_t hook_condition(std::string_view name) {
  if (is_work(name)) return kEndsTimes;
  return name.starts_with("vkCmdPipelineBarrier") ? kHoldsTimestamps : 0;
}

bool is_between_compute(VkPipelineStageFlags2 from, VkPipelineStageFlags2 to) {
  constexpr VkPipelineStageFlags2 kCompute =
      VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  return (from & kCompute) != 0 && (to & kCompute) != 0;
}

// The arguments are those of vkCmdPipelineBarrier and of vkCmdPipelineBarrier2.
template <typename... Others>
bool is_compute_barrier(uint32_t from, uint32_t to, Others...) {
  return is_between_compute(from, to);
}
bool is_compute_barrier(const void* dependencies) {
  const auto& info = *static_cast<const VkDependencyInfo*>(dependencies);
  const auto between = [](const auto& barrier) {
    return is_between_compute(barrier.srcStageMask, barrier.dstStageMask);
  };
  return std::any_of(info.pMemoryBarriers, info.pMemoryBarriers + info.memoryBarrierCount,
                     between) ||
         std::any_of(info.pBufferMemoryBarriers,
                     info.pBufferMemoryBarriers + info.bufferMemoryBarrierCount, between) ||
         std::any_of(info.pImageMemoryBarriers,
                     info.pImageMemoryBarriers + info.imageMemoryBarrierCount, between);
}

#ifdef __clang__
// The types of the list are those of the C ABI, not those of the headers.
#define TALLY_CALLS_BY_ABI __attribute__((no_sanitize("function")))
#else
#define TALLY_CALLS_BY_ABI
#endif

template <Command kCommand, uint32_t kCondition, typename Types>
struct Recorded;

template <Command kCommand, uint32_t kCondition, typename Result, typename... Arguments>
struct Recorded<kCommand, kCondition, Result(Arguments...)> {
  TALLY_CALLS_BY_ABI static VKAPI_ATTR Result VKAPI_CALL call(VkCommandBuffer b,
                                                              Arguments... arguments) noexcept {
    using Next = Result(VKAPI_PTR*)(VkCommandBuffer, Arguments...);
    CommandBuffer* state = nullptr;
    vk::guarded_void([&] { state = find_command_buffer(b); });
    if (!state) return Result();
    if constexpr (kCondition == kEndsTimes) state->before_other_work();
    const auto next = reinterpret_cast<Next>(state->context().commands()[kCommand]);
    if constexpr ((std::is_same_v<Arguments, VkCommandBuffer> || ...)) {
      // Commands that are preprocessed with the state of a command buffer do not fit its copy.
      vk::guarded_void([&] {
        stop_copies(state->context(),
                    "the application preprocesses generated commands with their state");
      });
    } else if (const VkCommandBuffer copy = state->copy()) {
      next(copy, arguments...);
    }
    if constexpr (kCondition == kHoldsTimestamps) {
      next(b, arguments...);
      if (is_compute_barrier(arguments...)) state->after_compute_barrier();
    } else {
      return next(b, arguments...);
    }
  }
};

}  // namespace

void stop_copies(RecordingContext& context, std::string_view reason) {
  if (!context.copies()) return;
  context.stop_copies();
  log_once(LogLevel::Warning,
           "command buffers that are submitted again are counted in all frames, which slows down "
           "those that are not captured: {}",
           reason);
}

const vk::HookTable& recorded_command_hooks() {
#define TALLY_COMMAND(name, types)                                             \
  vk::hook(#name, Recorded<Command::name, hook_condition(#name), types>::call, \
           hook_condition(#name)),
  // Intentionally leaked: applications call Vulkan from static destructors.
  static const auto* const table = new vk::HookTable({
#include "capture/record/command_list.inc"
#include "vk/own_call.h"
  });
#undef TALLY_COMMAND
  return *table;
}

}  // namespace tally::capture
