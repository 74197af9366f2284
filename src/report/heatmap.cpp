#include "report/heatmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/colour_map.h"
#include "report/pixel_font.h"
#include "report/values.h"

namespace tally::report {
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
