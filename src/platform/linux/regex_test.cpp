#include "platform/regex.h"

#include <gtest/gtest.h>

#include <utility>

namespace tally::platform {
namespace {

TEST(Regex, that_is_wrong_is_refused_with_its_place) {
  const std::pair<const char*, const char*> wrong[] = {
      {"a(b[c]", "at character 2"},  {"(a)(b", "at character 4"}, {"(a[b)c", "at character 3"},
      {"a[z-b]c", "at character 5"}, {"ab\\", "at character 3"},  {"a{2,1}", "at character 6"},
  };
  for (const auto& [text, place] : wrong) {
    const auto pattern = Regex::compile(text);
    ASSERT_FALSE(pattern.ok()) << text;
    EXPECT_TRUE(pattern.error().message.ends_with(place)) << pattern.error().message;
  }
}

}  // namespace
}  // namespace tally::platform
