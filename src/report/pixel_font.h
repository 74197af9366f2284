// Draws text into pictures with an enlarged font of five by seven pixels.
#pragma once

#include <string_view>

#include "picture/picture.h"
#include "report/colour_map.h"

namespace tally::report {

inline constexpr uint32_t kTextScale = 2;
inline constexpr uint32_t kTextHeight = 7 * kTextScale;

uint32_t text_width(std::string_view text);

// Clips text that does not fit. Non-ASCII characters are drawn as '?'.
void draw_text(Picture& picture, uint32_t x, uint32_t y, std::string_view text, Colour colour);

}  // namespace tally::report
