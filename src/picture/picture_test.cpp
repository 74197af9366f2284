// PNG files: an encoded picture decodes to the same pixels, and everything else is rejected.
#include <gtest/gtest.h>

#include <random>

#include "picture/picture.h"

namespace tally {
namespace {

constexpr uint64_t kEnough = 1 << 20;

Picture noise(uint32_t width, uint32_t height, uint32_t alpha) {
  std::mt19937 random(7);
  Picture picture{width, height, {}};
  for (uint32_t i = 0; i < width * height; ++i) {
    picture.pixels.push_back((static_cast<uint32_t>(random()) & 0xffffff) | alpha);
  }
  return picture;
}

TEST(Png, pictures_survive_a_round_trip) {
  for (const uint32_t alpha : {0xff000000u, 0x80000000u}) {
    const Picture picture = noise(37, 11, alpha);
    const auto bytes = encode_png(picture);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    const auto again = decode_png(*bytes, kEnough);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->width, 37u);
    EXPECT_EQ(again->height, 11u);
    EXPECT_EQ(again->pixels, picture.pixels);
  }
}

TEST(Png, damaged_and_oversized_files_are_refused) {
  const auto bytes = encode_png(noise(16, 16, 0xff000000u));
  ASSERT_TRUE(bytes.ok());
  EXPECT_FALSE(decode_png(*bytes, 255).ok());
  EXPECT_FALSE(decode_png({}, kEnough).ok());
  for (size_t length = 0; length < bytes->size() - 16; length += 7) {
    EXPECT_FALSE(decode_png(std::span(*bytes).first(length), kEnough).ok()) << length;
  }
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    auto damaged = *bytes;
    damaged[random() % damaged.size()] ^= static_cast<std::byte>(1 + random() % 255);
    (void)decode_png(damaged, kEnough);
  }
}

TEST(Png, a_picture_without_pixels_is_refused) { EXPECT_FALSE(encode_png(Picture{}).ok()); }

}  // namespace
}  // namespace tally
