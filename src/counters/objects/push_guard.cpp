#include "counters/objects/push_guard.h"

#include <array>

namespace tally::counters {
namespace {

constexpr std::array<float, 2> kAboveOne = {2, 2};
constexpr VkShaderStageFlags kStage = VK_SHADER_STAGE_FRAGMENT_BIT;

}  // namespace

PushGuard::PushGuard(VkDevice device, const DeviceTable& next, const LayoutRules& rules)
    : device_(device), next_(next), offset_(rules.guard_offset()) {
  if (!rules.guard) return;
  const VkPushConstantRange range = {kStage, offset_, sizeof kAboveOne};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  if (next.CreatePipelineLayout(device, &info, nullptr, &layout_) != VK_SUCCESS) {
    layout_ = VK_NULL_HANDLE;
  }
}

PushGuard::~PushGuard() {
  if (layout_ != VK_NULL_HANDLE) next_.DestroyPipelineLayout(device_, layout_, nullptr);
}

void PushGuard::push(VkCommandBuffer commands) const {
  if (layout_ == VK_NULL_HANDLE) return;
  next_.CmdPushConstants(commands, layout_, kStage, offset_, sizeof kAboveOne, kAboveOne.data());
}

}  // namespace tally::counters
