// Commands that performance queries count and that have no other hook. Those that bind descriptors
// also invalidate descriptor heaps.
#include "counters/layer/entry_points.h"

namespace tally::counters {
namespace {

// The hook of the command whose function pointer is `kNext`.
template <auto kNext, CommandMetric kMetric, typename Function>
struct Counted;
template <auto kNext, CommandMetric kMetric, typename... Arguments>
struct Counted<kNext, kMetric, void(VKAPI_PTR*)(VkCommandBuffer, Arguments...)> {
  static constexpr bool kBindsDescriptors = kMetric == CommandMetric::DescriptorBinds;
  static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer commands, Arguments... arguments) {
    CommandBuffer* state = find_command_buffer(commands);
    if (state) state->count_command(kMetric);
    if (state && kBindsDescriptors) state->bound().set_descriptors(DescriptorKind::Sets);
    const DeviceTable& next = state ? state->next() : find_device(commands)->next();
    (next.*kNext)(commands, arguments...);
  }
};

template <auto kNext, CommandMetric kMetric, typename... Names>
void add(std::vector<vk::Hook>& hooks, Names... names) {
  using Function = std::remove_cvref_t<decltype(std::declval<DeviceTable>().*kNext)>;
  const auto hook = Counted<kNext, kMetric, Function>::call;
  constexpr HookCondition kCondition =
      kMetric == CommandMetric::DescriptorBinds ? kDescriptors : kPerformanceQueries;
  (hooks.push_back(vk::hook(names, hook, kCondition)), ...);
}

using Table = DeviceTable;
using Metric = CommandMetric;

void add_binds(std::vector<vk::Hook>& hooks) {
  constexpr Metric kDescriptors = Metric::DescriptorBinds;
  add<&Table::CmdBindDescriptorSets, kDescriptors>(hooks, "vkCmdBindDescriptorSets");
  add<&Table::CmdBindDescriptorSets2, kDescriptors>(hooks, "vkCmdBindDescriptorSets2",
                                                    "vkCmdBindDescriptorSets2KHR");
  add<&Table::CmdPushDescriptorSet, kDescriptors>(hooks, "vkCmdPushDescriptorSet",
                                                  "vkCmdPushDescriptorSetKHR");
  add<&Table::CmdPushDescriptorSet2, kDescriptors>(hooks, "vkCmdPushDescriptorSet2",
                                                   "vkCmdPushDescriptorSet2KHR");
  add<&Table::CmdPushDescriptorSetWithTemplate, kDescriptors>(
      hooks, "vkCmdPushDescriptorSetWithTemplate", "vkCmdPushDescriptorSetWithTemplateKHR");
  add<&Table::CmdPushDescriptorSetWithTemplate2, kDescriptors>(
      hooks, "vkCmdPushDescriptorSetWithTemplate2", "vkCmdPushDescriptorSetWithTemplate2KHR");
  add<&Table::CmdSetDescriptorBufferOffsetsEXT, kDescriptors>(hooks,
                                                              "vkCmdSetDescriptorBufferOffsetsEXT");
  add<&Table::CmdSetDescriptorBufferOffsets2EXT, kDescriptors>(
      hooks, "vkCmdSetDescriptorBufferOffsets2EXT");
  add<&Table::CmdBindDescriptorBufferEmbeddedSamplersEXT, kDescriptors>(
      hooks, "vkCmdBindDescriptorBufferEmbeddedSamplersEXT");
  add<&Table::CmdBindDescriptorBufferEmbeddedSamplers2EXT, kDescriptors>(
      hooks, "vkCmdBindDescriptorBufferEmbeddedSamplers2EXT");
  add<&Table::CmdBindVertexBuffers, Metric::VertexBufferBinds>(hooks, "vkCmdBindVertexBuffers");
  add<&Table::CmdBindVertexBuffers2, Metric::VertexBufferBinds>(hooks, "vkCmdBindVertexBuffers2",
                                                                "vkCmdBindVertexBuffers2EXT");
  add<&Table::CmdBindVertexBuffers3KHR, Metric::VertexBufferBinds>(hooks,
                                                                   "vkCmdBindVertexBuffers3KHR");
}

void add_barriers(std::vector<vk::Hook>& hooks) {
  add<&Table::CmdPipelineBarrier, Metric::Barriers>(hooks, "vkCmdPipelineBarrier");
  add<&Table::CmdPipelineBarrier2, Metric::Barriers>(hooks, "vkCmdPipelineBarrier2",
                                                     "vkCmdPipelineBarrier2KHR");
  add<&Table::CmdWaitEvents, Metric::Barriers>(hooks, "vkCmdWaitEvents");
  add<&Table::CmdWaitEvents2, Metric::Barriers>(hooks, "vkCmdWaitEvents2", "vkCmdWaitEvents2KHR");
}

void add_transfers(std::vector<vk::Hook>& hooks) {
  constexpr Metric kTransfer = Metric::Transfers;
  add<&Table::CmdBlitImage, kTransfer>(hooks, "vkCmdBlitImage");
  add<&Table::CmdBlitImage2, kTransfer>(hooks, "vkCmdBlitImage2", "vkCmdBlitImage2KHR");
  add<&Table::CmdClearColorImage, kTransfer>(hooks, "vkCmdClearColorImage");
  add<&Table::CmdClearDepthStencilImage, kTransfer>(hooks, "vkCmdClearDepthStencilImage");
  add<&Table::CmdCopyBuffer, kTransfer>(hooks, "vkCmdCopyBuffer");
  add<&Table::CmdCopyBuffer2, kTransfer>(hooks, "vkCmdCopyBuffer2", "vkCmdCopyBuffer2KHR");
  add<&Table::CmdCopyBufferToImage, kTransfer>(hooks, "vkCmdCopyBufferToImage");
  add<&Table::CmdCopyBufferToImage2, kTransfer>(hooks, "vkCmdCopyBufferToImage2",
                                                "vkCmdCopyBufferToImage2KHR");
  add<&Table::CmdCopyImage, kTransfer>(hooks, "vkCmdCopyImage");
  add<&Table::CmdCopyImage2, kTransfer>(hooks, "vkCmdCopyImage2", "vkCmdCopyImage2KHR");
  add<&Table::CmdCopyImageToBuffer, kTransfer>(hooks, "vkCmdCopyImageToBuffer");
  add<&Table::CmdCopyImageToBuffer2, kTransfer>(hooks, "vkCmdCopyImageToBuffer2",
                                                "vkCmdCopyImageToBuffer2KHR");
  add<&Table::CmdFillBuffer, kTransfer>(hooks, "vkCmdFillBuffer");
  add<&Table::CmdResolveImage, kTransfer>(hooks, "vkCmdResolveImage");
  add<&Table::CmdResolveImage2, kTransfer>(hooks, "vkCmdResolveImage2", "vkCmdResolveImage2KHR");
  add<&Table::CmdUpdateBuffer, kTransfer>(hooks, "vkCmdUpdateBuffer");
  add<&Table::CmdClearAttachments, Metric::Clears>(hooks, "vkCmdClearAttachments");
}

// Between memory that addresses or other objects name.
void add_memory_transfers(std::vector<vk::Hook>& hooks) {
  constexpr Metric kTransfer = Metric::Transfers;
  add<&Table::CmdConvertCooperativeVectorMatrixNV, kTransfer>(
      hooks, "vkCmdConvertCooperativeVectorMatrixNV");
  add<&Table::CmdCopyImageToMemoryKHR, kTransfer>(hooks, "vkCmdCopyImageToMemoryKHR");
  add<&Table::CmdCopyMemoryIndirectKHR, kTransfer>(hooks, "vkCmdCopyMemoryIndirectKHR");
  add<&Table::CmdCopyMemoryIndirectNV, kTransfer>(hooks, "vkCmdCopyMemoryIndirectNV");
  add<&Table::CmdCopyMemoryKHR, kTransfer>(hooks, "vkCmdCopyMemoryKHR");
  add<&Table::CmdCopyMemoryToImageIndirectKHR, kTransfer>(hooks,
                                                          "vkCmdCopyMemoryToImageIndirectKHR");
  add<&Table::CmdCopyMemoryToImageIndirectNV, kTransfer>(hooks, "vkCmdCopyMemoryToImageIndirectNV");
  add<&Table::CmdCopyMemoryToImageKHR, kTransfer>(hooks, "vkCmdCopyMemoryToImageKHR");
  add<&Table::CmdCopyTensorARM, kTransfer>(hooks, "vkCmdCopyTensorARM");
  add<&Table::CmdDecompressMemoryEXT, kTransfer>(hooks, "vkCmdDecompressMemoryEXT");
  add<&Table::CmdDecompressMemoryIndirectCountEXT, kTransfer>(
      hooks, "vkCmdDecompressMemoryIndirectCountEXT");
  add<&Table::CmdDecompressMemoryIndirectCountNV, kTransfer>(
      hooks, "vkCmdDecompressMemoryIndirectCountNV");
  add<&Table::CmdDecompressMemoryNV, kTransfer>(hooks, "vkCmdDecompressMemoryNV");
  add<&Table::CmdFillMemoryKHR, kTransfer>(hooks, "vkCmdFillMemoryKHR");
  add<&Table::CmdUpdateMemoryKHR, kTransfer>(hooks, "vkCmdUpdateMemoryKHR");
}

}  // namespace

void add_counted_command_entry_points(std::vector<vk::Hook>& hooks) {
  add_binds(hooks);
  add_barriers(hooks);
  add_transfers(hooks);
  add_memory_transfers(hooks);
}

}  // namespace tally::counters
