// Converts texels of images that were copied to a buffer into pixels for display.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tally::capture {

// Returns the bytes of a texel in a buffer; 0 for formats that pictures do not support. For depth
// formats, the size of the depth aspect.
uint32_t texel_bytes(VkFormat format);
// Returns depth, and stencil if the format has it; 0 for colour formats.
VkImageAspectFlags depth_aspects(VkFormat format);

// The range that maps depths and integers to shades of grey: the least is black, the most is white.
struct AmountRange {
  double least = 0;
  double most = 1;
};
AmountRange amount_range(VkFormat format, std::span<const std::byte> texels);

// Returns opaque pixels with the bytes R, G, B, A. Linear values (floating point) get the sRGB
// curve; values outside 0 to 1 are clamped. If a texel has several integers, the first one is
// shown, except that four bytes are a colour.
std::vector<uint32_t> to_pixels(VkFormat format, std::span<const std::byte> texels,
                                const AmountRange& range = {});

}  // namespace tally::capture
