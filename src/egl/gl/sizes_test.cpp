// The sizes of what a call submits: primitives from vertices, bytes from pixels.
#include <gtest/gtest.h>

#include <set>

#include "egl/driver/driver.h"
#include "egl/gl/calls.h"
#include "egl/gl/hot.h"
#include "egl/gl/raw.h"

namespace tally::egl {
namespace {

TEST(Primitives, of_the_modes_that_only_some_apis_have) {
  EXPECT_EQ(primitives_of(GL_QUADS, 11, 0), 2u);
  EXPECT_EQ(primitives_of(GL_QUAD_STRIP, 7, 0), 2u);
  EXPECT_EQ(primitives_of(GL_POLYGON, 7, 0), 1u);
  EXPECT_EQ(primitives_of(GL_POLYGON, 2, 0), 0u);
  EXPECT_EQ(primitives_of(GL_LINES_ADJACENCY, 9, 0), 2u);
  EXPECT_EQ(primitives_of(GL_LINE_STRIP_ADJACENCY, 6, 0), 3u);
  EXPECT_EQ(primitives_of(GL_TRIANGLES_ADJACENCY, 13, 0), 2u);
  EXPECT_EQ(primitives_of(GL_TRIANGLE_STRIP_ADJACENCY, 8, 0), 2u);
  EXPECT_EQ(primitives_of(GL_PATCHES, 13, 4), 3u);
}

TEST(Primitives, of_too_few_vertices_there_are_none) {
  for (uint32_t mode = 0; mode <= GL_PATCHES; mode++) {
    EXPECT_EQ(primitives_of(mode, 0, 3), 0u) << mode;
    EXPECT_EQ(primitives_of(mode, 1, 3), mode == GL_POINTS ? 1u : 0u) << mode;
  }
  EXPECT_EQ(primitives_of(GL_PATCHES, 3, 0), 0u);
  EXPECT_EQ(primitives_of(0xDEAD, 30, 3), 0u);
}

TEST(PixelBits, of_formats_and_types) {
  EXPECT_EQ(pixel_bits(GL_RGBA, GL_UNSIGNED_BYTE), 32u);
  EXPECT_EQ(pixel_bits(GL_RGB, GL_UNSIGNED_BYTE), 24u);
  EXPECT_EQ(pixel_bits(GL_RGB, GL_UNSIGNED_SHORT_5_6_5), 16u);
  EXPECT_EQ(pixel_bits(GL_RGBA, GL_UNSIGNED_INT_2_10_10_10_REV), 32u);
  EXPECT_EQ(pixel_bits(GL_RG_INTEGER, GL_INT), 64u);
  EXPECT_EQ(pixel_bits(GL_RGBA, GL_HALF_FLOAT), 64u);
  EXPECT_EQ(pixel_bits(GL_LUMINANCE_ALPHA, GL_UNSIGNED_BYTE), 16u);
  EXPECT_EQ(pixel_bits(GL_DEPTH_STENCIL, GL_FLOAT_32_UNSIGNED_INT_24_8_REV), 64u);
  EXPECT_EQ(pixel_bits(GL_COLOR_INDEX, GL_BITMAP), 1u);
  EXPECT_EQ(pixel_bits(0xDEAD, GL_FLOAT), 0u);
  EXPECT_EQ(pixel_bits(GL_RGBA, 0xDEAD), 0u);
}

TEST(Functions, every_name_is_found_once) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kFnCount; i++) {
    const auto function = static_cast<Fn>(i);
    EXPECT_TRUE(names.insert(name_of(function)).second) << name_of(function);
    EXPECT_EQ(find_function(name_of(function)), function);
    EXPECT_NE(stub_of(function), nullptr);
  }
  EXPECT_FALSE(find_function("glNoSuchFunction"));
  EXPECT_FALSE(find_function(""));
  for (size_t i = 0; i < kEglFnCount; i++) {
    EXPECT_EQ(find_egl_function(name_of(static_cast<EglFn>(i))), static_cast<EglFn>(i));
  }
}

}  // namespace
}  // namespace tally::egl
