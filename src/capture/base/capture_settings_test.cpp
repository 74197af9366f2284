#include "capture/base/capture_settings.h"

#include <gtest/gtest.h>

namespace tally::capture {
namespace {

TEST(ShaderPattern, matches_whole_names_as_in_a_shell_whatever_their_case) {
  const struct {
    const char *pattern, *text;
    bool matches;
  } cases[] = {
      {"", "anything", true},
      {"lit", "lit", true},
      {"LIT", "lit", true},
      {"lit", "unlit", false},
      {"*lit*", "Unlit.frag", true},
      {"l?t", "lot", true},
      {"l?t", "lt", false},
      {"*", "", true},
      {"a*b*c", "aXbXbYc", true},
      {"a*b*c", "aXcXb", false},
      {"*.frag", "a.frag.frag", true},
      {"[a-c]x", "Bx", true},
      {"[a-c]x", "dx", false},
      {"[!a-c]x", "dx", true},
      {"[^a-c]x", "ax", false},
      {"[]x]", "]", true},
      {"[a-]", "-", true},
      {"[abc", "[abc", true},
      {"[abc", "a", false},
      {"\\*x", "*x", true},
      {"\\*x", "ax", false},
      {"\\?", "?", true},
      {"*[0-9]", "pass7", true},
      {"*[0-9]", "pass", false},
      {"a\\", "a\\", true},
      {"**", "x", true},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(matches_pattern(one.pattern, one.text), one.matches)
        << one.pattern << " " << one.text;
  }
}

TEST(ShaderPattern, matches_the_start_of_a_hash_from_four_digits_on) {
  EXPECT_TRUE(matches_hash("3f09", "3f09ab"));
  EXPECT_FALSE(matches_hash("3f0", "3f09ab"));
  EXPECT_FALSE(matches_hash("09ab", "3f09ab"));
}

}  // namespace
}  // namespace tally::capture
