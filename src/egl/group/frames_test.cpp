#include "egl/group/frames.h"

#include <gtest/gtest.h>

namespace tally::egl {
namespace {

EGLSurface surface(uintptr_t number) { return reinterpret_cast<EGLSurface>(number); }

class FramesTest : public testing::Test {
 protected:
  FramesTest() { frames_.set_active(true); }
  Frames frames_;
};

TEST_F(FramesTest, a_frame_is_from_one_swap_of_a_surface_to_its_next) {
  frames_.swapped(surface(1), 90, 100);
  EXPECT_EQ(frames_.numbers().frames, 0u);
  frames_.swapped(surface(1), 115, 130);
  frames_.swapped(surface(1), 180, 190);
  const FrameNumbers numbers = frames_.numbers();
  EXPECT_EQ(numbers.swaps, 3u);
  EXPECT_EQ(numbers.frames, 2u);
  EXPECT_EQ(numbers.frame_time, 90u);
  EXPECT_EQ(numbers.swap_time, 35u);
  EXPECT_EQ(numbers.latest, 60u);
  EXPECT_EQ(numbers.shortest, 30u);
  EXPECT_EQ(numbers.longest, 60u);
}

TEST_F(FramesTest, surfaces_have_frames_of_their_own) {
  frames_.swapped(surface(1), 100, 100);
  frames_.swapped(surface(2), 110, 110);
  EXPECT_EQ(frames_.numbers().frames, 0u);
  frames_.swapped(surface(1), 150, 150);
  EXPECT_EQ(frames_.numbers().latest, 50u);
  frames_.swapped(surface(2), 180, 180);
  EXPECT_EQ(frames_.numbers().latest, 70u);
}

TEST_F(FramesTest, a_pause_is_no_frame) {
  frames_.swapped(surface(1), 100, 100);
  frames_.set_active(false);
  frames_.swapped(surface(1), 200, 200);
  frames_.set_active(true);
  frames_.swapped(surface(1), 300, 300);
  EXPECT_EQ(frames_.numbers().swaps, 2u);
  EXPECT_EQ(frames_.numbers().frames, 0u);
}

TEST_F(FramesTest, a_surface_that_was_destroyed_begins_anew) {
  frames_.swapped(surface(1), 100, 100);
  frames_.forget(surface(1));
  frames_.swapped(surface(1), 900, 900);
  EXPECT_EQ(frames_.numbers().frames, 0u);
}

TEST_F(FramesTest, extremes_begin_anew_and_totals_do_not) {
  frames_.swapped(surface(1), 100, 100);
  frames_.swapped(surface(1), 200, 200);
  frames_.reset_extremes();
  EXPECT_EQ(frames_.numbers().longest, 0u);
  frames_.swapped(surface(1), 230, 230);
  const FrameNumbers numbers = frames_.numbers();
  EXPECT_EQ(numbers.longest, 30u);
  EXPECT_EQ(numbers.shortest, 30u);
  EXPECT_EQ(numbers.frames, 2u);
}

}  // namespace
}  // namespace tally::egl
