#include "report/colour_map.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

}  // namespace tally::report
