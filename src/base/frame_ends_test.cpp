#include <gtest/gtest.h>

#include <utility>

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

TEST(Regex, that_is_wrong_is_refused_with_its_place) {
  const std::pair<const char*, const char*> wrong[] = {
      {"a(b[c]", "at character 2"},  {"(a)(b", "at character 4"}, {"(a[b)c", "at character 3"},
      {"a[z-b]c", "at character 5"}, {"ab\\", "at character 3"},  {"a{2,1}", "at character 6"},
  };
  for (const auto& [text, place] : wrong) {
    const auto pattern = platform::Regex::compile(text);
    ASSERT_FALSE(pattern.ok()) << text;
    EXPECT_TRUE(pattern.error().message.ends_with(place)) << pattern.error().message;
  }
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
