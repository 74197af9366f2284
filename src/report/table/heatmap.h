// Colours for amounts, from dark blue over green to yellow. Lightness rises evenly with the amount,
// so that the order is visible in greyscale print and to people who cannot distinguish red from
// green. The colours in between are also distinguishable to them.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/model/counts.h"
#include "picture/picture.h"

namespace tally::report {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;

  uint32_t pixel() const { return 0xff000000u | uint32_t{blue} << 16 | uint32_t{green} << 8 | red; }
  static Colour of(uint32_t pixel) {
    return {static_cast<uint8_t>(pixel), static_cast<uint8_t>(pixel >> 8),
            static_cast<uint8_t>(pixel >> 16)};
  }
  bool operator==(const Colour&) const = default;
};

// The colour of an amount from 0 to 1.
Colour heat_colour(double amount);

// Blends `top` over `bottom`; `share` is the opacity of `top`, from 0 to 1.
Colour blended(Colour bottom, Colour top, double share);

// The grey of the same brightness.
Colour greyed(Colour colour);

// Draws text into pictures with an enlarged font of five by seven pixels.

inline constexpr uint32_t kTextScale = 2;
inline constexpr uint32_t kTextHeight = 7 * kTextScale;

uint32_t text_width(std::string_view text);

// Clips text that does not fit. Non-ASCII characters are drawn as '?'.
void draw_text(Picture& picture, uint32_t x, uint32_t y, std::string_view text, Colour colour);

// Draws the regions of a pass as a picture. A region's colour shows the counter's average per
// pixel, drawn over the pass's final image. A scale explains the colours, and an outline marks the
// hottest region.

// `background` is the final image, with the size of the render area, or null.
Picture draw_heatmap(const analysis::RegionMap& map, const Picture* background);

}  // namespace tally::report
