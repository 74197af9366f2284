// Colours for amounts, from dark blue over green to yellow. Lightness rises evenly with the amount,
// so that the order is visible in greyscale print and to people who cannot distinguish red from
// green. The colours in between are also distinguishable to them.
#pragma once

#include <cstdint>

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

}  // namespace tally::report
