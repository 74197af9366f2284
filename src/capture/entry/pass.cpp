// Render passes and dynamic rendering.
#include "capture/entry/entry.h"
#include "vk/boundary.h"

namespace tally::capture {
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
      b, nothing,
      [&](const DeviceTable& next, VkCommandBuffer to, bool) { next.CmdEndRenderPass(to); },
      [](CommandBuffer& state) { state.after_end_pass(); });
}

VKAPI_ATTR void VKAPI_CALL CmdEndRenderPass2(VkCommandBuffer b, const VkSubpassEndInfo* end) {
  around(
      b, nothing,
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

}  // namespace tally::capture
