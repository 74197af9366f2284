// A picture in memory: rows of pixels, top row first. Each pixel holds the bytes R, G, B, A as in a
// PNG (sRGB, straight alpha).
#pragma once

#include <cstdint>
#include <vector>

namespace tally {

struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<uint32_t> pixels;

  uint32_t& at(uint32_t x, uint32_t y) { return pixels[size_t{y} * width + x]; }
  uint32_t at(uint32_t x, uint32_t y) const { return pixels[size_t{y} * width + x]; }
};

}  // namespace tally
