// Text in pictures: letters of five by seven pixels, enlarged.
#pragma once

#include <string_view>

#include "picture/picture.h"
#include "report/colour_map.h"

namespace tally::report {

inline constexpr uint32_t kTextScale = 2;
inline constexpr uint32_t kTextHeight = 7 * kTextScale;

uint32_t text_width(std::string_view text);

// What does not fit is cut off. Characters that are not ASCII show as '?'.
void draw_text(Picture& picture, uint32_t x, uint32_t y, std::string_view text, Colour colour);

}  // namespace tally::report
