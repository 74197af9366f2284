// A picture in memory: rows of pixels, top row first. Each pixel holds the bytes R, G, B, A as in a
// PNG (sRGB, straight alpha).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace tally {

struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<uint32_t> pixels;

  uint32_t& at(uint32_t x, uint32_t y) { return pixels[size_t{y} * width + x]; }
  uint32_t at(uint32_t x, uint32_t y) const { return pixels[size_t{y} * width + x]; }
};

// Encodes and decodes PNG files.

// Encodes 8 bits per channel. Opaque pictures are written without an alpha channel.
Result<std::vector<std::byte>> encode_png(const Picture& picture);

// Decodes a PNG of at most `max_pixels`. The bytes come from a file and are untrusted.
Result<Picture> decode_png(std::span<const std::byte> bytes, uint64_t max_pixels);

}  // namespace tally
