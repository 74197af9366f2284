// What counters by region must know of the application's render passes and framebuffers.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace tally::counters {

struct RenderPassShape {
  uint32_t subpasses = 0;
  uint32_t views = 0;  // one more than the highest view of any subpass; 0: no multiview
};

// The views of a mask: the index of its highest bit, and one more.
inline uint32_t views_of(uint32_t mask) { return static_cast<uint32_t>(std::bit_width(mask)); }

inline RenderPassShape shape_of(const VkRenderPassCreateInfo2& info) {
  RenderPassShape shape{info.subpassCount, 0};
  for (const VkSubpassDescription2& subpass : std::span(info.pSubpasses, info.subpassCount)) {
    shape.views = std::max(shape.views, views_of(subpass.viewMask));
  }
  return shape;
}

inline RenderPassShape shape_of(const VkRenderPassCreateInfo& info,
                                const VkRenderPassMultiviewCreateInfo* multiview) {
  RenderPassShape shape{info.subpassCount, 0};
  if (!multiview) return shape;
  for (const uint32_t mask : std::span(multiview->pViewMasks, multiview->subpassCount)) {
    shape.views = std::max(shape.views, views_of(mask));
  }
  return shape;
}

}  // namespace tally::counters
