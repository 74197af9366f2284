// Shared by the tests of render passes: squares in a target of 128x128 pixels.
#pragma once

#include "api/regions/kit.h"

namespace tally::test {

class RegionPassesTest : public RegionsTest {
 protected:
  static constexpr VkExtent2D kExtent = {128, 128};
  static constexpr VkRect2D kArea = {{0, 0}, kExtent};

  static void expect_rectangle(const Capture& values, const Context& context, uint32_t size,
                               uint32_t times = 1, uint32_t index = 0) {
    expect_pixels(
        values, kInvocations, context, kArea,
        [&](uint32_t x, uint32_t y) { return x < size && y < size ? times : 0; }, index);
    values.expect_layout(index);
  }
  static RectanglePush square(float size) { return {0, 0, size, size, 128, 128}; }
};

}  // namespace tally::test
