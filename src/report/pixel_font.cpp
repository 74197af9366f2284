#include "report/pixel_font.h"

namespace tally::report {
namespace {

constexpr uint32_t kColumns = 5;
constexpr uint32_t kRows = 7;
constexpr uint32_t kAdvance = (kColumns + 1) * kTextScale;

constexpr char kFirst = ' ';
constexpr uint8_t kGlyphs[][kRows] = {
#include "report/pixel_font.inc"
};

// Characters that extend one row below the baseline.
bool descends(char c) { return std::string_view("gjpqy,;").find(c) != std::string_view::npos; }

// True for the first byte of each UTF-8 character.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

const uint8_t* glyph_of(char c) {
  const auto index = static_cast<size_t>(static_cast<unsigned char>(c)) - kFirst;
  return index < std::size(kGlyphs) ? kGlyphs[index] : kGlyphs['?' - kFirst];
}

void draw_glyph(Picture& picture, uint32_t left, uint32_t top, const uint8_t* glyph,
                uint32_t pixel) {
  for (uint32_t y = 0; y < kRows * kTextScale && top + y < picture.height; ++y) {
    for (uint32_t x = 0; x < kColumns * kTextScale && left + x < picture.width; ++x) {
      const uint32_t bit = kColumns - 1 - x / kTextScale;
      if ((glyph[y / kTextScale] >> bit & 1) != 0) picture.at(left + x, top + y) = pixel;
    }
  }
}

}  // namespace

uint32_t text_width(std::string_view text) {
  uint32_t characters = 0;
  for (const char c : text) characters += begins_character(c) ? 1 : 0;
  return characters * kAdvance;
}

void draw_text(Picture& picture, uint32_t x, uint32_t y, std::string_view text, Colour colour) {
  for (const char c : text) {
    if (!begins_character(c)) continue;
    draw_glyph(picture, x, y + (descends(c) ? kTextScale : 0), glyph_of(c), colour.pixel());
    x += kAdvance;
  }
}

}  // namespace tally::report
