// What the layer needs to know of the application's render passes.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tally::counters {

// The number of views up to the highest one of the mask.
inline uint32_t views_of(uint32_t mask) { return static_cast<uint32_t>(std::bit_width(mask)); }

struct RenderPassShape {
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
  RenderPassShape shape{static_cast<uint32_t>(view_masks.size()), 0, nullptr};
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
