// Heatmaps: the colours show the amounts, also to people with colour blindness, and the picture is
// labelled.
#include "report/table/heatmap.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace tally::report {
namespace {

using Rgb = std::array<double, 3>;  // linear light

double linear(uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

Rgb linear(Colour colour) {
  return {linear(colour.red), linear(colour.green), linear(colour.blue)};
}

double luminance(const Rgb& c) { return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; }

// How people who lack one kind of cones see the colour (Vienot, Brettel and Mollon 1999).
Rgb without_red_cones(const Rgb& c) {
  const double yellow = 0.11238 * c[0] + 0.88762 * c[1];
  return {yellow, yellow, 0.00401 * c[0] - 0.00401 * c[1] + c[2]};
}
Rgb without_green_cones(const Rgb& c) {
  const double yellow = 0.29275 * c[0] + 0.70725 * c[1];
  return {yellow, yellow, -0.02234 * c[0] + 0.02234 * c[1] + c[2]};
}

double distance(const Rgb& a, const Rgb& b) {
  return std::hypot(std::cbrt(a[0]) - std::cbrt(b[0]), std::cbrt(a[1]) - std::cbrt(b[1]),
                    std::cbrt(a[2]) - std::cbrt(b[2]));
}

TEST(HeatColours, grow_lighter_in_even_steps) {
  constexpr int kSteps = 16;
  double before = std::cbrt(luminance(linear(heat_colour(0))));
  double least = 1, most = 0;
  for (int i = 1; i <= kSteps; ++i) {
    const double now = std::cbrt(luminance(linear(heat_colour(double{1} * i / kSteps))));
    least = std::min(least, now - before);
    most = std::max(most, now - before);
    before = now;
  }
  EXPECT_GT(least, 0);
  EXPECT_LT(most, 1.5 * least) << "no step is much larger than another";
}

TEST(HeatColours, differ_for_people_with_red_green_blindness) {
  constexpr int kSteps = 10;
  for (const auto& seen : {without_red_cones, without_green_cones}) {
    for (int i = 0; i < kSteps; ++i) {
      for (int j = i + 1; j <= kSteps; ++j) {
        const Rgb a = seen(linear(heat_colour(double{1} * i / kSteps)));
        const Rgb b = seen(linear(heat_colour(double{1} * j / kSteps)));
        EXPECT_GT(distance(a, b), 0.05 * (j - i)) << i << ' ' << j;
        EXPECT_LT(luminance(a), luminance(b)) << i << ' ' << j;
      }
    }
  }
}

TEST(PixelFont, all_glyphs_differ_and_most_are_not_blank) {
  std::set<std::vector<uint32_t>> seen;
  for (char c = ' '; c <= '~'; ++c) {
    Picture picture{12, 18, std::vector<uint32_t>(12 * 18, 0)};
    draw_text(picture, 0, 0, std::string(1, c), {1, 2, 3});
    EXPECT_TRUE(seen.insert(picture.pixels).second) << c;
    EXPECT_EQ(picture.pixels == std::vector<uint32_t>(12 * 18, 0), c == ' ') << c;
  }
}

TEST(PixelFont, text_that_does_not_fit_is_clipped) {
  Picture picture{5, 3, std::vector<uint32_t>(15, 0)};
  draw_text(picture, 2, 1, "W\xc3\xa9W", {1, 2, 3});
  EXPECT_EQ(text_width("W\xc3\xa9W"), 3 * text_width("W"));
}

// Four regions of 256x256 pixels; the right ones have half the width.
analysis::RegionMap four_regions() {
  analysis::RegionMap map;
  map.counter.title = "fragment invocations";
  map.pass = "main 384x512";
  map.regions = {.width = 384, .height = 512, .region_width = 256, .region_height = 256};
  map.values = {256 * 256, 128 * 256 * 2, 0, 128 * 256 / 2};
  for (const uint32_t value : map.values) map.total += value;
  return map;
}

// The position of the regions in the picture.
constexpr uint32_t kLeft = 16, kTop = 16 + 2 * (kTextHeight + 8) + kTextHeight / 2;

TEST(Heatmap, regions_are_coloured_by_their_average_per_pixel) {
  const Picture picture = draw_heatmap(four_regions(), nullptr);
  const auto at = [&](uint32_t x, uint32_t y) { return picture.at(kLeft + x, kTop + y); };
  EXPECT_EQ(at(100, 100), heat_colour(0.5).pixel()) << "1 of 2, the most";
  EXPECT_EQ(at(300, 100), heat_colour(1).pixel()) << "a partial region, 2 a pixel";
  EXPECT_EQ(at(383, 500), heat_colour(0.25).pixel());
  EXPECT_EQ(at(0, 511), (Colour{128, 128, 128}.pixel())) << "nothing has no colour";
  EXPECT_EQ(picture.at(0, 0), (Colour{255, 255, 255}.pixel()));
}

TEST(Heatmap, the_image_shows_through_and_empty_regions_are_uncoloured) {
  Picture image{384, 512, std::vector<uint32_t>(384 * 512, Colour{255, 255, 255}.pixel())};
  image.at(10, 500) = Colour{0, 255, 0}.pixel();
  image.at(11, 100) = Colour{0, 0, 0}.pixel();
  const Picture picture = draw_heatmap(four_regions(), &image);
  const auto at = [&](uint32_t x, uint32_t y) {
    return Colour::of(picture.at(kLeft + x, kTop + y));
  };
  EXPECT_EQ(at(10, 500), greyed({0, 255, 0})) << "without colour, so that it is taken for none";
  EXPECT_EQ(at(12, 100), blended({204, 204, 204}, heat_colour(0.5), 0.7)) << "softened";
  EXPECT_EQ(at(11, 100), blended({51, 51, 51}, heat_colour(0.5), 0.7));
}

TEST(Heatmap, small_passes_are_enlarged_and_those_without_counts_are_grey) {
  analysis::RegionMap map;
  map.regions = {.width = 20, .height = 10, .region_width = 16, .region_height = 16};
  map.values = {0, 0};
  const Picture picture = draw_heatmap(map, nullptr);
  EXPECT_GE(picture.width, 256u);
  EXPECT_EQ(picture.at(kLeft + 200, kTop + 100), (Colour{128, 128, 128}.pixel()));
}

}  // namespace
}  // namespace tally::report
