// The application's render passes, as far as the layer needs them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "counters/base/device_table.h"

namespace tally::counters {

// The number of views up to the highest one of the mask.
inline uint32_t views_of(uint32_t mask) { return static_cast<uint32_t>(std::bit_width(mask)); }

// The driver's render pass. Pipelines whose variants are not made yet outlive the application's
// handle, which is then destroyed with this object.
class KeptRenderPass {
 public:
  // Which attachments a subpass has.
  struct Use {
    bool colour = false;
    bool depth_stencil = false;
  };
  KeptRenderPass(VkDevice device, const DeviceTable& next, VkRenderPass handle,
                 std::vector<Use> subpasses)
      : device_(device), next_(next), handle_(handle), subpasses_(std::move(subpasses)) {}
  ~KeptRenderPass() {
    if (owned_) next_.DestroyRenderPass(device_, handle_, nullptr);
  }
  KeptRenderPass(const KeptRenderPass&) = delete;
  KeptRenderPass& operator=(const KeptRenderPass&) = delete;

  // The application destroys it.
  void take_ownership() { owned_ = true; }
  Use use_of(uint32_t subpass) const {
    return subpass < subpasses_.size() ? subpasses_[subpass] : Use{true, true};
  }

 private:
  VkDevice device_;
  const DeviceTable& next_;
  VkRenderPass handle_;
  std::vector<Use> subpasses_;
  bool owned_ = false;
};

// The attachments of each subpass, of VkRenderPassCreateInfo or VkRenderPassCreateInfo2.
template <typename Info>
std::vector<KeptRenderPass::Use> uses_of(const Info& info) {
  std::vector<KeptRenderPass::Use> uses;
  for (const auto& subpass : std::span(info.pSubpasses, info.subpassCount)) {
    const auto is_used = [](const auto& reference) {
      return reference.attachment != VK_ATTACHMENT_UNUSED;
    };
    const std::span colours(subpass.pColorAttachments, subpass.colorAttachmentCount);
    const auto* depth = subpass.pDepthStencilAttachment;
    uses.push_back({std::ranges::any_of(colours, is_used), depth && is_used(*depth)});
  }
  return uses;
}

struct RenderPassShape {
  std::shared_ptr<KeptRenderPass> kept;  // null: it has allocation callbacks of the application
  uint32_t subpasses = 0;
  uint32_t views = 0;  // up to the highest one of any subpass; 0: no multiview
  std::shared_ptr<const std::vector<uint32_t>> view_masks;  // by subpass; null: no multiview

  // The number of views that the subpass renders; 0: no multiview.
  uint32_t views_in(uint32_t subpass) const {
    if (!view_masks || subpass >= view_masks->size()) return 0;
    return static_cast<uint32_t>(std::popcount((*view_masks)[subpass]));
  }
};

inline RenderPassShape shape_of(std::vector<uint32_t> view_masks) {
  RenderPassShape shape;
  shape.subpasses = static_cast<uint32_t>(view_masks.size());
  for (const uint32_t mask : view_masks) shape.views = std::max(shape.views, views_of(mask));
  if (shape.views != 0) {
    shape.view_masks = std::make_shared<const std::vector<uint32_t>>(std::move(view_masks));
  }
  return shape;
}

inline RenderPassShape shape_of(const VkRenderPassCreateInfo2& info) {
  std::vector<uint32_t> masks;
  for (const VkSubpassDescription2& subpass : std::span(info.pSubpasses, info.subpassCount)) {
    masks.push_back(subpass.viewMask);
  }
  return shape_of(std::move(masks));
}

inline RenderPassShape shape_of(const VkRenderPassCreateInfo& info,
                                const VkRenderPassMultiviewCreateInfo* multiview) {
  std::vector<uint32_t> masks(info.subpassCount);
  if (multiview) {
    std::copy_n(multiview->pViewMasks, std::min(multiview->subpassCount, info.subpassCount),
                masks.begin());
  }
  return shape_of(std::move(masks));
}

}  // namespace tally::counters
