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
// Depth, and stencil where the format has it; 0 of colours.
VkImageAspectFlags depth_aspects(VkFormat format);

// How depths and integers become shades of grey: the least is black, the most white.
struct AmountRange {
  double least = 0;
  double most = 1;
};
AmountRange amount_range(VkFormat format, std::span<const std::byte> texels);

// Opaque pixels of bytes R, G, B, A. Linear values (floating point) get the sRGB curve, values
// beyond 0 to 1 are cut off. Of several integers the first is shown, but four bytes are a colour.
std::vector<uint32_t> to_pixels(VkFormat format, std::span<const std::byte> texels,
                                const AmountRange& range = {});

}  // namespace tally::capture
