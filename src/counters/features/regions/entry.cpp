// VK_ARM_performance_counters_by_region: its enumeration, render passes and their begin struct, and
// the objects whose properties the layer needs to check that struct.

#include <algorithm>
#include <cstring>

#include "counters/features/queries/indirect_counts.h"
#include "counters/layer/entry_points.h"
#include "counters/layer/offered_extensions.h"
#include "counters/recording/command_buffer.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

using BeginInfo = VkRenderPassPerformanceCountersByRegionBeginInfoARM;
constexpr VkStructureType kBeginType =
    VK_STRUCTURE_TYPE_RENDER_PASS_PERFORMANCE_COUNTERS_BY_REGION_BEGIN_INFO_ARM;

RegionState* regions_of(const void* handle) { return find_device(handle)->regions(); }

// The state of a command buffer on a device with counters by region; else null.
CommandBuffer* find_capturing(VkCommandBuffer commands) {
  CommandBuffer* state = find_command_buffer(commands);
  return state && state->regions() ? state : nullptr;
}

// A copy of `info` without the layer's struct in its chain.
template <typename Info>
class Stripped {
 public:
  explicit Stripped(const Info& info) : info_(info), chain_(info.pNext) {
    chain_.remove(kBeginType);
    info_.pNext = chain_.head();
    const auto* first = static_cast<const VkBaseInStructure*>(info_.pNext);
    if (first && first->sType == vk::kRegionDrawsType) info_.pNext = first->pNext;
  }
  const Info& info() const { return info_; }

 private:
  Info info_;
  vk::ChainCopy chain_;
};

// --- the begin of render passes

void begin_capture(CommandBuffer& state, const BeginInfo& info,
                   const RenderPassInstance& instance) {
  if (state.is_protected()) {
    state.device().context.messages.notice(
        "TALLY-protected", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(state.handle()),
        "render passes in protected command buffers are not counted by region");
    return;
  }
  auto request = check_region_request(*state.device().regions, state.handle(), info, instance);
  if (request) state.begin_capture(std::move(*request));
}

void note_pass(VkCommandBuffer commands, const RenderPassShape& shape, const VkRect2D& area,
               bool suspending = false) {
  CommandBuffer* state = find_command_buffer(commands);
  if (state) state->begin_pass(shape, area.extent, suspending);
}

RenderPassShape find_shape(VkCommandBuffer commands, VkRenderPass render_pass) {
  const DeviceState* state = find_device(commands)->state();
  return state ? state->objects.render_passes.find(render_pass) : RenderPassShape{};
}

void begin_render_pass(CommandBuffer& state, const BeginInfo& info,
                       const VkRenderPassBeginInfo& begin, VkSubpassContents contents) {
  const RegionState& regions = *state.device().regions;
  const RenderPassShape shape = state.device().objects.render_passes.find(begin.renderPass);
  RenderPassInstance instance;
  instance.area = begin.renderArea;
  instance.subpasses = shape.subpasses;
  instance.multiview = shape.views != 0;
  instance.layers =
      instance.multiview ? shape.views : regions.framebuffer_layers.find(begin.framebuffer);
  instance.may_execute_secondaries = shape.subpasses > 1 || contents != VK_SUBPASS_CONTENTS_INLINE;
  begin_capture(state, info, instance);
}

void begin_rendering(CommandBuffer& state, const BeginInfo& info, const VkRenderingInfo& begin) {
  constexpr VkRenderingFlags kSuspension = VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT;
  RenderPassInstance instance;
  instance.area = begin.renderArea;
  instance.multiview = begin.viewMask != 0;
  instance.layers = instance.multiview ? views_of(begin.viewMask) : begin.layerCount;
  // All other flags may allow secondary command buffers.
  instance.may_execute_secondaries = (begin.flags & ~kSuspension) != 0;
  instance.suspending = (begin.flags & VK_RENDERING_SUSPENDING_BIT) != 0;
  instance.resuming = (begin.flags & VK_RENDERING_RESUMING_BIT) != 0;
  begin_capture(state, info, instance);
}

// Calls `capture(state, struct)` if the chain has the layer's struct, and always `next(begin
// info)`.
template <typename Info, typename Capture, typename Next>
void begin(VkCommandBuffer commands, const Info* info, const Capture& capture, const Next& next) {
  CommandBuffer* state = find_capturing(commands);
  const auto* ours = state ? vk::find_in_chain<BeginInfo>(info->pNext, kBeginType) : nullptr;
  if (!ours) {
    next(info);
    return;
  }
  vk::guarded_void([&] { capture(*state, *ours); }, [&](VkResult error) { state->fail(error); });
  const Stripped<Info> stripped(*info);
  next(&stripped.info());
}

VKAPI_ATTR void VKAPI_CALL hook_begin_render_pass(VkCommandBuffer commands,
                                                  const VkRenderPassBeginInfo* info,
                                                  VkSubpassContents contents) {
  begin(
      commands, info,
      [&](CommandBuffer& state, const BeginInfo& ours) {
        begin_render_pass(state, ours, *info, contents);
      },
      [&](const VkRenderPassBeginInfo* with) {
        next_of(commands).CmdBeginRenderPass(commands, with, contents);
      });
  note_pass(commands, find_shape(commands, info->renderPass), info->renderArea);
}

VKAPI_ATTR void VKAPI_CALL hook_begin_render_pass2(VkCommandBuffer commands,
                                                   const VkRenderPassBeginInfo* info,
                                                   const VkSubpassBeginInfo* subpass) {
  begin(
      commands, info,
      [&](CommandBuffer& state, const BeginInfo& ours) {
        begin_render_pass(state, ours, *info, subpass->contents);
      },
      [&](const VkRenderPassBeginInfo* with) {
        next_of(commands).CmdBeginRenderPass2(commands, with, subpass);
      });
  note_pass(commands, find_shape(commands, info->renderPass), info->renderArea);
}

VKAPI_ATTR void VKAPI_CALL hook_begin_rendering(VkCommandBuffer commands,
                                                const VkRenderingInfo* info) {
  constexpr VkRenderingFlags kParts = VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT;
  if ((info->flags & kParts) != 0) {
    if (CommandBuffer* state = find_command_buffer(commands)) state->leave_draws_to_shaders();
  }
  begin(
      commands, info,
      [&](CommandBuffer& state, const BeginInfo& ours) { begin_rendering(state, ours, *info); },
      [&](const VkRenderingInfo* with) { next_of(commands).CmdBeginRendering(commands, with); });
  note_pass(commands, shape_of({info->viewMask}), info->renderArea,
            (info->flags & VK_RENDERING_SUSPENDING_BIT) != 0);
}

// --- subpasses, and the end of render passes

void leave_subpass(VkCommandBuffer commands) {
  if (CommandBuffer* state = find_command_buffer(commands)) state->leave_subpass();
}

void note_next_subpass(VkCommandBuffer commands) {
  CommandBuffer* state = find_command_buffer(commands);
  if (state) state->next_subpass();
}

VKAPI_ATTR void VKAPI_CALL hook_next_subpass(VkCommandBuffer commands, VkSubpassContents contents) {
  leave_subpass(commands);
  next_of(commands).CmdNextSubpass(commands, contents);
  note_next_subpass(commands);
}

VKAPI_ATTR void VKAPI_CALL hook_next_subpass2(VkCommandBuffer commands,
                                              const VkSubpassBeginInfo* begin_info,
                                              const VkSubpassEndInfo* end_info) {
  leave_subpass(commands);
  next_of(commands).CmdNextSubpass2(commands, begin_info, end_info);
  note_next_subpass(commands);
}

void end_pass(VkCommandBuffer commands) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) return;
  vk::guarded_void([&] { state->end_pass(); }, [&](VkResult error) { state->fail(error); });
}

VKAPI_ATTR void VKAPI_CALL hook_end_render_pass(VkCommandBuffer commands) {
  leave_subpass(commands);
  next_of(commands).CmdEndRenderPass(commands);
  end_pass(commands);
}

VKAPI_ATTR void VKAPI_CALL hook_end_render_pass2(VkCommandBuffer commands,
                                                 const VkSubpassEndInfo* info) {
  leave_subpass(commands);
  next_of(commands).CmdEndRenderPass2(commands, info);
  end_pass(commands);
}

// The end info's type is named after one extension or another.
template <auto kNext, typename EndInfo>
VKAPI_ATTR void VKAPI_CALL hook_end_rendering_2(VkCommandBuffer commands, const EndInfo* info) {
  leave_subpass(commands);
  (next_of(commands).*kNext)(commands, info);
  end_pass(commands);
}

VKAPI_ATTR void VKAPI_CALL hook_end_rendering(VkCommandBuffer commands) {
  leave_subpass(commands);
  next_of(commands).CmdEndRendering(commands);
  end_pass(commands);
}

// --- render passes and framebuffers

template <typename Info>
void note_render_pass(DeviceState& state, VkRenderPass handle, RenderPassShape shape,
                      const Info& info, const VkAllocationCallbacks* allocator) {
  if (!allocator) {
    shape.kept = std::make_shared<KeptRenderPass>(state.objects.device.handle,
                                                  state.objects.device.next, handle, uses_of(info));
  }
  state.objects.render_passes.insert(handle, std::move(shape));
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_render_pass(VkDevice device,
                                                       const VkRenderPassCreateInfo* info,
                                                       const VkAllocationCallbacks* allocator,
                                                       VkRenderPass* render_pass) {
  return vk::guarded([&] {
    const VkResult result = next_of(device).CreateRenderPass(device, info, allocator, render_pass);
    DeviceState* state = find_device(device)->state();
    if (result != VK_SUCCESS || !state) return result;
    const auto* multiview = vk::find_in_chain<VkRenderPassMultiviewCreateInfo>(
        info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO);
    note_render_pass(*state, *render_pass, shape_of(*info, multiview), *info, allocator);
    return result;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_render_pass2(VkDevice device,
                                                        const VkRenderPassCreateInfo2* info,
                                                        const VkAllocationCallbacks* allocator,
                                                        VkRenderPass* render_pass) {
  return vk::guarded([&] {
    const VkResult result = next_of(device).CreateRenderPass2(device, info, allocator, render_pass);
    DeviceState* state = find_device(device)->state();
    if (result == VK_SUCCESS && state) {
      note_render_pass(*state, *render_pass, shape_of(*info), *info, allocator);
    }
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_render_pass(VkDevice device, VkRenderPass render_pass,
                                                    const VkAllocationCallbacks* allocator) {
  if (DeviceState* state = find_device(device)->state()) {
    const RenderPassShape known = state->objects.render_passes.take(render_pass);
    if (known.kept && !allocator) {
      known.kept->take_ownership();
      return;
    }
  }
  next_of(device).DestroyRenderPass(device, render_pass, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_framebuffer(VkDevice device,
                                                       const VkFramebufferCreateInfo* info,
                                                       const VkAllocationCallbacks* allocator,
                                                       VkFramebuffer* framebuffer) {
  return vk::guarded([&] {
    const VkResult result = next_of(device).CreateFramebuffer(device, info, allocator, framebuffer);
    RegionState* regions = regions_of(device);
    if (result == VK_SUCCESS && regions) {
      regions->framebuffer_layers.insert(*framebuffer, info->layers);
    }
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_framebuffer(VkDevice device, VkFramebuffer framebuffer,
                                                    const VkAllocationCallbacks* allocator) {
  if (RegionState* regions = regions_of(device)) regions->framebuffer_layers.take(framebuffer);
  next_of(device).DestroyFramebuffer(device, framebuffer, allocator);
}

// --- buffers that values may be written to

VKAPI_ATTR VkResult VKAPI_CALL hook_create_buffer(VkDevice device, const VkBufferCreateInfo* info,
                                                  const VkAllocationCallbacks* allocator,
                                                  VkBuffer* buffer) {
  return vk::guarded([&] {
    QueryState* queries = find_device(device)->queries();
    const CopyableBuffer changed(*info, queries != nullptr);
    VkResult result = next_of(device).CreateBuffer(device, changed.info(), allocator, buffer);
    if (result < 0 && changed.is_changed()) {
      queries->device.report({result, "vkCreateBuffer"},
                             "vkCreateBuffer(): the layer cannot copy a buffer, because the driver "
                             "rejects the usage that a copy needs");
      result = next_of(device).CreateBuffer(device, info, allocator, buffer);
    }
    RegionState* regions = regions_of(device);
    if (result == VK_SUCCESS && regions) regions->buffers.created(*buffer, info->size);
    if (result == VK_SUCCESS && queries && changed.is_bound()) {
      queries->buffer_sizes.insert(*buffer, info->size);
    }
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_buffer(VkDevice device, VkBuffer buffer,
                                               const VkAllocationCallbacks* allocator) {
  if (RegionState* regions = regions_of(device)) regions->buffers.destroyed(buffer);
  if (QueryState* queries = find_device(device)->queries()) queries->buffer_sizes.take(buffer);
  next_of(device).DestroyBuffer(device, buffer, allocator);
}

VkDeviceAddress note_address(VkDevice device, VkBuffer buffer, VkDeviceAddress address) {
  vk::guarded_void([&] {
    if (RegionState* regions = regions_of(device)) regions->buffers.addressed(buffer, address);
  });
  return address;
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL hook_buffer_address(VkDevice device,
                                                          const VkBufferDeviceAddressInfo* info) {
  return note_address(device, info->buffer, next_of(device).GetBufferDeviceAddress(device, info));
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL
hook_buffer_address_ext(VkDevice device, const VkBufferDeviceAddressInfo* info) {
  return note_address(device, info->buffer,
                      next_of(device).GetBufferDeviceAddressEXT(device, info));
}

}  // namespace

VkResult begin_secondary(VkCommandBuffer commands, CommandBuffer& state,
                         const VkCommandBufferBeginInfo& info) {
  const bool continues = (info.flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) != 0;
  if (state.queries()) state.query_commands().inherit(info);
  VkCommandBufferBeginInfo changed = info;
  VkCommandBufferInheritanceInfo inherited = *info.pInheritanceInfo;
  if (const QueryState* queries = state.device().queries.get()) {
    inherited.pipelineStatistics &= ~queries->emulated.statistics_of(inherited.pipelineStatistics);
    if (queries->emulated.occlusion) {
      inherited.occlusionQueryEnable = VK_FALSE;
      inherited.queryFlags = 0;
    }
  }
  const Stripped<VkCommandBufferInheritanceInfo> inheritance(inherited);
  changed.pInheritanceInfo = &inheritance.info();
  const VkResult result = state.next().BeginCommandBuffer(commands, &changed);
  if (result == VK_SUCCESS) state.bound().push_guard();
  if (result == VK_SUCCESS && continues) state.continue_pass();
  return result;
}

void add_counters_by_region_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Regions));
  };
  const auto pass = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Passes));
  };
  // Variants of pipelines need render passes, whatever they count.
  const auto always = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Instrumentation));
  };
  pass("vkCmdBeginRenderPass", hook_begin_render_pass);
  pass("vkCmdBeginRenderPass2", hook_begin_render_pass2);
  pass("vkCmdBeginRenderPass2KHR", hook_begin_render_pass2);
  hooks.push_back(make_hook("vkCmdBeginRendering", hook_begin_rendering, HookCondition::Rendering));
  hooks.push_back(
      make_hook("vkCmdBeginRenderingKHR", hook_begin_rendering, HookCondition::Rendering));
  pass("vkCmdEndRenderPass", hook_end_render_pass);
  pass("vkCmdEndRenderPass2", hook_end_render_pass2);
  pass("vkCmdEndRenderPass2KHR", hook_end_render_pass2);
  pass("vkCmdEndRendering", hook_end_rendering);
  pass("vkCmdEndRenderingKHR", hook_end_rendering);
  const PFN_vkCmdEndRendering2KHR end_khr = hook_end_rendering_2<&DeviceTable::CmdEndRendering2KHR>;
  const PFN_vkCmdEndRendering2EXT end_ext = hook_end_rendering_2<&DeviceTable::CmdEndRendering2EXT>;
  pass("vkCmdEndRendering2KHR", end_khr);
  pass("vkCmdEndRendering2EXT", end_ext);
  pass("vkCmdNextSubpass", hook_next_subpass);
  pass("vkCmdNextSubpass2", hook_next_subpass2);
  pass("vkCmdNextSubpass2KHR", hook_next_subpass2);
  pass("vkCreateBuffer", hook_create_buffer);
  add("vkCreateFramebuffer", hook_create_framebuffer);
  always("vkCreateRenderPass", hook_create_render_pass);
  always("vkCreateRenderPass2", hook_create_render_pass2);
  always("vkCreateRenderPass2KHR", hook_create_render_pass2);
  pass("vkDestroyBuffer", hook_destroy_buffer);
  add("vkDestroyFramebuffer", hook_destroy_framebuffer);
  always("vkDestroyRenderPass", hook_destroy_render_pass);
  add("vkGetBufferDeviceAddress", hook_buffer_address);
  add("vkGetBufferDeviceAddressEXT", hook_buffer_address_ext);
  add("vkGetBufferDeviceAddressKHR", hook_buffer_address);
}

// The structs' types and chains are the application's and stay: some take KHR's structs of the same
// shape.
VkResult enumerate_region_counters(VkPhysicalDevice handle, uint32_t family, uint32_t* count,
                                   VkPerformanceCounterARM* counters,
                                   VkPerformanceCounterDescriptionARM* descriptions) {
  Instance& instance = *find_instance(handle);
  const PhysicalDevice& gpu = instance.inspect(handle);
  std::vector<const catalogue::Counter*> all;
  if (is_offered(Extension::Regions, gpu) && family < gpu.queue_families.size() &&
      (gpu.queue_families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0) {
    all = region_counters(gpu, instance.options());
  }
  const auto available = static_cast<uint32_t>(all.size());
  if (!counters && !descriptions) {
    *count = available;
    return VK_SUCCESS;
  }
  *count = std::min(*count, available);
  for (uint32_t i = 0; i < *count; ++i) {
    if (counters) counters[i].counterID = static_cast<uint32_t>(all[i]->number);
    if (!descriptions) continue;
    descriptions[i].flags = 0;
    std::memset(descriptions[i].name, 0, sizeof descriptions[i].name);
    all[i]->name.copy(descriptions[i].name, sizeof descriptions[i].name - 1);
  }
  return *count < available ? VK_INCOMPLETE : VK_SUCCESS;
}

}  // namespace tally::counters
