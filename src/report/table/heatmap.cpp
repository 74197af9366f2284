#include "report/table/heatmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "analysis/model/names.h"
#include "report/table/display_text.h"

namespace tally::report {
namespace {

uint8_t channel(double value) {
  return static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

// Encodes linear light with the sRGB transfer function.
double encoded(double linear) {
  if (linear <= 0.0031308) return 12.92 * linear;
  return 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
}

// OKLab (Ottosson 2020): `lightness` is perceptually uniform; a runs from green to red, b from blue
// to yellow.
Colour from_oklab(double lightness, double a, double b) {
  const double long_root = lightness + 0.3963377774 * a + 0.2158037573 * b;
  const double medium_root = lightness - 0.1055613458 * a - 0.0638541728 * b;
  const double short_root = lightness - 0.0894841775 * a - 1.2914855480 * b;
  const double l = long_root * long_root * long_root;
  const double m = medium_root * medium_root * medium_root;
  const double s = short_root * short_root * short_root;
  return {channel(encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s)),
          channel(encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s)),
          channel(encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s))};
}

}  // namespace

Colour heat_colour(double amount) {
  const double t = std::clamp(amount, 0.0, 1.0);
  // All colours on this path are within the sRGB gamut.
  const double lightness = 0.25 + 0.68 * t;
  const double green_red = 0.04 - 0.10 * t - 0.08 * std::sin(std::numbers::pi * t);
  const double blue_yellow = -0.13 + 0.31 * t;
  return from_oklab(lightness, green_red, blue_yellow);
}

Colour blended(Colour bottom, Colour top, double share) {
  const auto mix = [share](uint8_t under, uint8_t over) {
    return static_cast<uint8_t>(std::lround(under + share * (over - under)));
  };
  return {mix(bottom.red, top.red), mix(bottom.green, top.green), mix(bottom.blue, top.blue)};
}

Colour greyed(Colour colour) {
  const double luma = 0.2126 * colour.red + 0.7152 * colour.green + 0.0722 * colour.blue;
  const auto grey = static_cast<uint8_t>(std::lround(luma));
  return {grey, grey, grey};
}

namespace {

constexpr uint32_t kColumns = 5;
constexpr uint32_t kRows = 7;
constexpr uint32_t kAdvance = (kColumns + 1) * kTextScale;

constexpr char kFirst = ' ';
constexpr uint8_t kGlyphs[][kRows] = {
#include "report/table/pixel_font.inc"
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

namespace {

using analysis::RegionMap;

constexpr Colour kPaper{255, 255, 255};
constexpr Colour kInk{34, 34, 34};
constexpr Colour kEmptyRegion{128, 128, 128};
constexpr double kOpacity = 0.7;   // of the colours over the image
constexpr double kContrast = 0.6;  // of the image under the colours

constexpr uint32_t kMargin = 16;
constexpr uint32_t kLine = kTextHeight + 8;
constexpr uint32_t kBarWidth = 24;
constexpr uint32_t kTick = 6;
constexpr uint32_t kMinSide = 256;  // smaller passes are enlarged

// Formats a number of the scale with three digits: "35.2 k", "0.5".
std::string short_number(double value) {
  constexpr std::array kUnits = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.3g}{}", value, kUnits[unit]);
}

// The step of a scale up to `maximum` with at most six marks: 1, 2 or 5 times a power of ten.
double scale_step(double maximum) {
  const double min_step = maximum / 5;
  const double power = std::pow(10, std::floor(std::log10(min_step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= min_step) return factor * power;
  }
  return 10 * power;
}

void fill(Picture& picture, uint32_t left, uint32_t top, uint32_t width, uint32_t height,
          Colour colour) {
  for (uint32_t y = top; y < std::min(top + height, picture.height); ++y) {
    for (uint32_t x = left; x < std::min(left + width, picture.width); ++x) {
      picture.at(x, y) = colour.pixel();
    }
  }
}

void outline(Picture& picture, uint32_t left, uint32_t top, uint32_t width, uint32_t height,
             Colour colour) {
  fill(picture, left, top, width, 1, colour);
  fill(picture, left, top + height - 1, width, 1, colour);
  fill(picture, left, top, 1, height, colour);
  fill(picture, left + width - 1, top, 1, height, colour);
}

class Heatmap {
 public:
  Heatmap(const RegionMap& map, const Picture* background)
      : map_(map), background_(background), density_(densities(map)) {
    hottest_ =
        static_cast<size_t>(std::max_element(density_.begin(), density_.end()) - density_.begin());
    max_density_ = density_[hottest_];
    const uint32_t side = std::max(map.regions.width, map.regions.height);
    scale_ = side >= kMinSide ? 1 : (kMinSide + side - 1) / side;
    width_ = map.regions.width * scale_;
    height_ = map.regions.height * scale_;
  }

  Picture draw() {
    const uint32_t titles = static_cast<uint32_t>(header().size()) * kLine;
    // The scale's top label extends half its height above the scale.
    top_ = kMargin + titles + kTextHeight / 2;
    bar_left_ = kMargin + width_ + kMargin;
    bar_height_ = std::max(height_, 6 * kLine);
    uint32_t right = bar_left_ + kBarWidth + kTick + kMargin / 2 + text_width("99.9 k");
    for (const auto& lines : {header(), footer()}) {
      for (const std::string& line : lines) right = std::max(right, kMargin + text_width(line));
    }
    const uint32_t footer_top = top_ + bar_height_ + kMargin;
    picture_.width = right + kMargin;
    picture_.height = footer_top + static_cast<uint32_t>(footer().size()) * kLine + kMargin / 2;
    picture_.pixels.assign(size_t{picture_.width} * picture_.height, kPaper.pixel());
    draw_lines(header(), kMargin);
    draw_regions();
    draw_hottest();
    draw_scale();
    draw_lines(footer(), footer_top);
    return std::move(picture_);
  }

 private:
  static std::vector<double> densities(const RegionMap& map) {
    std::vector<double> density;
    const uint32_t columns = map.regions.columns();
    for (uint32_t i = 0; i < map.values.size(); ++i) {
      const auto area = analysis::region_area(map.regions, i % columns, i / columns);
      density.push_back(area.per_pixel(map.values[i]));
    }
    return density;
  }

  std::vector<std::string> header() const {
    std::string where =
        fmt::format("{}, frame {}, pass {}", map_.pass, map_.frame, map_.pass_number);
    if (map_.regions.subpass != 0) where += fmt::format(", subpass {}", map_.regions.subpass);
    if (map_.regions.layer != 0) where += fmt::format(", layer {}", map_.regions.layer);
    return {map_.counter.title + " per pixel", where};
  }

  std::vector<std::string> footer() const {
    std::vector<std::string> lines;
    lines.push_back(fmt::format("regions of {}x{} pixels; {} in all", map_.regions.region_width,
                                map_.regions.region_height, with_separators(map_.total)));
    if (max_density_ > 0) {
      const auto area = hottest_area();
      lines.push_back(fmt::format("outlined: the hottest, x {} y {}, {} a pixel", area.x, area.y,
                                  short_number(max_density_)));
    }
    lines.emplace_back(background_ ? "without colour: none" : "grey: none");
    return lines;
  }

  analysis::PixelArea hottest_area() const {
    const auto index = static_cast<uint32_t>(hottest_);
    return analysis::region_area(map_.regions, index % map_.regions.columns(),
                                 index / map_.regions.columns());
  }

  void draw_lines(const std::vector<std::string>& lines, uint32_t y) {
    for (const std::string& line : lines) {
      draw_text(picture_, kMargin, y, line, kInk);
      y += kLine;
    }
  }

  Colour background_at(uint32_t x, uint32_t y) const {
    return background_ ? greyed(Colour::of(background_->at(x, y))) : kEmptyRegion;
  }

  // Keeps some contrast of the image, but not so much that one colour could be mistaken for
  // another.
  Colour coloured(Colour below, double density) const {
    if (density == 0) return below;
    return blended(blended(kEmptyRegion, below, kContrast), heat_colour(density / max_density_),
                   background_ ? kOpacity : 1);
  }

  void draw_regions() {
    const uint32_t columns = map_.regions.columns();
    for (uint32_t y = 0; y < height_; ++y) {
      const uint32_t pixel_y = y / scale_;
      const uint32_t row = pixel_y / map_.regions.region_height;
      for (uint32_t x = 0; x < width_; ++x) {
        const uint32_t pixel_x = x / scale_;
        const size_t region = size_t{row} * columns + pixel_x / map_.regions.region_width;
        picture_.at(kMargin + x, top_ + y) =
            coloured(background_at(pixel_x, pixel_y), density_[region]).pixel();
      }
    }
  }

  // Outlines the region in black and white, which is visible on every colour.
  void draw_hottest() {
    if (max_density_ == 0) return;
    const auto area = hottest_area();
    const uint32_t left = kMargin + static_cast<uint32_t>(area.x - map_.regions.x) * scale_;
    const uint32_t top = top_ + static_cast<uint32_t>(area.y - map_.regions.y) * scale_;
    const uint32_t width = area.width * scale_, height = area.height * scale_;
    outline(picture_, left, top, width, height, {0, 0, 0});
    outline(picture_, left - 1, top - 1, width + 2, height + 2, {255, 255, 255});
    outline(picture_, left - 2, top - 2, width + 4, height + 4, {0, 0, 0});
  }

  // Draws the scale from 0 at the bottom to the maximum at the top, over the grey of empty regions.
  void draw_scale() {
    for (uint32_t y = 0; y < bar_height_; ++y) {
      const double amount = 1 - (y + 0.5) / bar_height_;
      fill(picture_, bar_left_, top_ + y, kBarWidth, 1,
           coloured(kEmptyRegion, amount * max_density_));
    }
    outline(picture_, bar_left_, top_, kBarWidth, bar_height_, kInk);
    if (max_density_ == 0) return mark(0);
    const double step = scale_step(max_density_);
    for (double value = 0; value <= max_density_ * 1.0001; value += step) mark(value);
  }

  void mark(double value) {
    const double amount = max_density_ == 0 ? 0 : std::min(value / max_density_, 1.0);
    const auto y = top_ + static_cast<uint32_t>(std::lround((1 - amount) * (bar_height_ - 1)));
    fill(picture_, bar_left_ + kBarWidth, y, kTick, 1, kInk);
    const uint32_t text_top = std::max(y, kTextHeight / 2) - kTextHeight / 2;
    draw_text(picture_, bar_left_ + kBarWidth + kTick + kMargin / 2, text_top, short_number(value),
              kInk);
  }

  const RegionMap& map_;
  const Picture* const background_;
  const std::vector<double> density_;  // by region, per pixel
  size_t hottest_ = 0;
  double max_density_ = 0;
  uint32_t scale_ = 1;
  uint32_t width_ = 0, height_ = 0;  // of the render area in the picture
  uint32_t top_ = 0, bar_left_ = 0, bar_height_ = 0;
  Picture picture_;
};

}  // namespace

Picture draw_heatmap(const RegionMap& map, const Picture* background) {
  return Heatmap(map, background).draw();
}

}  // namespace tally::report
