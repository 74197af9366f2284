// Texels of images that were copied to a buffer, as pixels that people look at.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tally::capture {

// Bytes of a texel in a buffer; 0 for formats that no picture is made of. Of depth formats, the
// depth's.
uint32_t texel_bytes(VkFormat format);
bool is_depth(VkFormat format);

// How amounts become shades of grey: the least is black, the most white.
struct DepthRange {
  float least = 0;
  float most = 1;
};
DepthRange depth_range(VkFormat format, std::span<const std::byte> texels);

// Opaque pixels of bytes R, G, B, A. Linear values (floating point) get the sRGB curve, values
// beyond 0 to 1 are cut off. `range` is for depth.
std::vector<uint32_t> to_pixels(VkFormat format, std::span<const std::byte> texels,
                                const DepthRange& range = {});

}  // namespace tally::capture
