#include <gtest/gtest.h>

#include <string>

#include "base/frame_range.h"

namespace tally {
namespace {

TEST(Regex, is_found_anywhere_in_a_name) {
  const auto pattern = platform::Regex::compile("^token [0-9]+$|batch");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(pattern->matches("token 12"));
  EXPECT_TRUE(pattern->matches("the batch"));
  EXPECT_FALSE(pattern->matches("token 12 of 13"));
}

TEST(Regex, that_is_wrong_is_refused_and_named) {
  for (const char* text : {"a(b[c]", "(a)(b", "a[z-b]c", "ab\\", "a{2,1}"}) {
    const auto pattern = platform::Regex::compile(text);
    ASSERT_FALSE(pattern.ok()) << text;
    EXPECT_NE(pattern.error().message.find(text), std::string::npos) << pattern.error().message;
  }
}

TEST(Regex, searches_a_long_text) {
  const auto pattern = platform::Regex::compile("^(a|b)*c$");
  ASSERT_TRUE(pattern.ok());
  const std::string text(100'000, 'a');
  EXPECT_FALSE(pattern->matches(text.c_str()));
  EXPECT_TRUE(pattern->matches((text + "c").c_str()));
}

TEST(FrameEnds, come_from_settings_and_what_is_wrong_there_changes_nothing) {
  const auto ends = [](const char* per, const char* label) {
    return FrameEnds::from(Settings::load("tally_x", {{"frame_per", per}, {"frame_label", label}}));
  };
  EXPECT_EQ(ends("queue-idle", "").unit, FrameUnit::QueueIdle);
  EXPECT_EQ(ends("vsync", "").unit, FrameUnit::Present);
  EXPECT_EQ(ends("present", "a").unit, FrameUnit::Label) << "a pattern implies the unit";
  EXPECT_FALSE(ends("label", "(").label.has_value());
}

}  // namespace
}  // namespace tally
