// Texels of known values, format by format.
#include "capture/record/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::capture {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<uint32_t> pixels(VkFormat format, const std::vector<T>& texels) {
  const auto bytes = std::as_bytes(std::span(texels));
  EXPECT_EQ(bytes.size() % texel_bytes(format), 0u);
  return to_pixels(format, bytes, amount_range(format, bytes));
}

TEST(Texels, bytes_are_taken_as_they_are_and_opaque) {
  EXPECT_THAT(pixels<uint32_t>(VK_FORMAT_R8G8B8A8_SRGB, {0x00332211}), ElementsAre(0xff332211));
  EXPECT_THAT(pixels<uint32_t>(VK_FORMAT_B8G8R8A8_UNORM, {0x80112233}), ElementsAre(0xff332211));
  EXPECT_THAT(pixels<uint8_t>(VK_FORMAT_R8_UNORM, {7, 255}), ElementsAre(0xff070707, 0xffffffff));
  EXPECT_THAT(pixels<uint8_t>(VK_FORMAT_R8G8_UNORM, {1, 2}), ElementsAre(0xff000201));
}

TEST(Texels, other_widths_are_scaled_to_8_bits) {
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_R5G6B5_UNORM_PACK16, {0xf800, 0x07e0, 0x001f, 0x8410}),
              ElementsAre(0xff0000ff, 0xff00ff00, 0xffff0000, 0xff848284));
  EXPECT_THAT(pixels<uint32_t>(VK_FORMAT_A2B10G10R10_UNORM_PACK32, {1023u, 1023u << 20, 512u}),
              ElementsAre(0xff0000ff, 0xffff0000, 0xff000080));
  EXPECT_THAT(pixels<uint32_t>(VK_FORMAT_A2R10G10B10_UNORM_PACK32, {1023u}),
              ElementsAre(0xffff0000));
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_R16G16B16A16_UNORM, {0xffff, 0x8000, 0x0100, 0}),
              ElementsAre(0xff0180ff));
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_R16G16_UNORM, {0x0100, 0xffff}), ElementsAre(0xff00ff01));
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_R5G5B5A1_UNORM_PACK16, {0xf801, 0x003e}),
              ElementsAre(0xff0000ff, 0xffff0000));
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_A1R5G5B5_UNORM_PACK16, {0x7c00, 0x001f}),
              ElementsAre(0xff0000ff, 0xffff0000));
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_R4G4B4A4_UNORM_PACK16, {0xf00f, 0x08ff}),
              ElementsAre(0xff0000ff, 0xffff8800));
}

TEST(Texels, linear_light_gets_the_curve_of_displays) {
  EXPECT_THAT(pixels<float>(VK_FORMAT_R32G32B32A32_SFLOAT, {1.0f, 0.21586f, 0.0f, 1.0f}),
              ElementsAre(0xff0080ff));
  EXPECT_THAT(pixels<float>(VK_FORMAT_R32_SFLOAT, {7.0f, -1.0f, NAN}),
              ElementsAre(0xffffffff, 0xff000000, 0xff000000));
  // Halves: 1, 0.5, 2^-24 (the least), infinity; 0.5 is 188 of 255.
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_R16_SFLOAT, {0x3c00, 0x3800, 0x0001, 0x7c00, 0xbc00}),
              ElementsAre(0xffffffff, 0xffbcbcbc, 0xff000000, 0xffffffff, 0xff000000));
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_R16G16B16A16_SFLOAT, {0x3c00, 0x3800, 0, 0}),
              ElementsAre(0xff00bcff));
  // Blue 1 (5 mantissa bits), green 0.5 and red 0 (6).
  EXPECT_THAT(pixels<uint32_t>(VK_FORMAT_B10G11R11_UFLOAT_PACK32,
                               {uint32_t{15u << 5} << 22 | uint32_t{14u << 6} << 11}),
              ElementsAre(0xffffbc00));
}

TEST(Texels, depth_reaches_from_black_to_white) {
  EXPECT_EQ(depth_aspects(VK_FORMAT_D32_SFLOAT), VK_IMAGE_ASPECT_DEPTH_BIT);
  EXPECT_EQ(depth_aspects(VK_FORMAT_D24_UNORM_S8_UINT),
            VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT);
  EXPECT_EQ(depth_aspects(VK_FORMAT_R32_SFLOAT), 0u);
  EXPECT_THAT(pixels<float>(VK_FORMAT_D32_SFLOAT, {0.9f, 0.95f, 1.0f}),
              ElementsAre(0xff000000, 0xff808080, 0xffffffff));
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_D16_UNORM, {5, 10}), ElementsAre(0xff000000, 0xffffffff));
  EXPECT_THAT(pixels<uint32_t>(VK_FORMAT_X8_D24_UNORM_PACK32, {0xab000000, 0x00ffffff}),
              ElementsAre(0xff000000, 0xffffffff));
  EXPECT_THAT(pixels<float>(VK_FORMAT_D32_SFLOAT, {0.5f}), ElementsAre(0xff000000));
}

TEST(Texels, depth_beside_stencil_is_shown) {
  EXPECT_THAT(pixels<uint32_t>(VK_FORMAT_D24_UNORM_S8_UINT, {0xab000000, 0x00ffffff}),
              ElementsAre(0xff000000, 0xffffffff));
  EXPECT_THAT(pixels<float>(VK_FORMAT_D32_SFLOAT_S8_UINT, {0.25f, 0.5f, 0.75f}),
              ElementsAre(0xff000000, 0xff808080, 0xffffffff));
}

TEST(Texels, integers_reach_from_black_to_white) {
  EXPECT_THAT(pixels<uint8_t>(VK_FORMAT_R8_UINT, {3, 4, 5}),
              ElementsAre(0xff000000, 0xff808080, 0xffffffff));
  EXPECT_THAT(pixels<uint32_t>(VK_FORMAT_R32_UINT, {0xfffffffe, 0xffffffff, 0xfffffffd}),
              ElementsAre(0xff808080, 0xffffffff, 0xff000000));
  EXPECT_THAT(pixels<int32_t>(VK_FORMAT_R32_SINT, {-7, 7}), ElementsAre(0xff000000, 0xffffffff));
  EXPECT_THAT(pixels<uint16_t>(VK_FORMAT_R16G16_UINT, {1, 9, 2, 5}),
              ElementsAre(0xff000000, 0xffffffff));
  EXPECT_THAT(pixels<uint32_t>(VK_FORMAT_R8G8B8A8_UINT, {0x00332211}), ElementsAre(0xff332211));
}

TEST(Texels, other_formats_have_no_picture) {
  EXPECT_EQ(texel_bytes(VK_FORMAT_S8_UINT), 0u);
  EXPECT_EQ(texel_bytes(VK_FORMAT_R64_UINT), 0u);
  EXPECT_TRUE(to_pixels(VK_FORMAT_R64_UINT, {}).empty());
}

}  // namespace
}  // namespace tally::capture
