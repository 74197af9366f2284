#include "counters/objects/push_guard.h"

#include <array>

#include "vk/own_call.h"

namespace tally::counters {
namespace {

constexpr std::array<float, 2> kAboveOne = {2, 2};
constexpr VkShaderStageFlags kStage = VK_SHADER_STAGE_FRAGMENT_BIT;
constexpr int kAttempts = 3;

}  // namespace

PushGuard::PushGuard(VkDevice device, const DeviceTable& next, const LayoutRules& rules)
    : device_(device), next_(next), offset_(rules.guard_offset()) {
  if (!rules.guard) return;
  const VkPushConstantRange range = {kStage, offset_, sizeof kAboveOne};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  // Without the guard llvmpipe may crash, so one refusal is not the end. A driver that refuses them
  // all refuses the application's layouts too.
  for (int left = kAttempts; left > 0 && layout_ == VK_NULL_HANDLE; --left) {
    vk::own("vkCreatePipelineLayout", next.CreatePipelineLayout(device, &info, nullptr, &layout_),
            layout_);
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
