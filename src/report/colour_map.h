// Colours for amounts: from dark blue over green to yellow. Lightness rises evenly with the amount,
// so that the order is seen in print without colour and by people who do not tell red from green;
// the way in between goes by colours that they see as different, too.
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

// `amount` from 0 to 1.
Colour heat_colour(double amount);

// `share` of `top` over `bottom`.
Colour blended(Colour bottom, Colour top, double share);

// As bright, without colour.
Colour greyed(Colour colour);

}  // namespace tally::report
