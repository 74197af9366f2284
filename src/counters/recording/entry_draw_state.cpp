// Dynamic state that primitive assembly, the counting of samples and the choice of variants depend
// on.
#include <type_traits>

#include "counters/layer/entry_points.h"

namespace tally::counters {
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

void add_draw_state_entry_points(std::vector<vk::Hook>& hooks) {
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
    hooks.push_back(vk::hook(name, function, kQueries));
  };
  hooks.push_back(
      vk::hook("vkCmdSetAlphaToCoverageEnableEXT", hook_set_alpha_to_coverage, kInstrumentation));
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

}  // namespace tally::counters
