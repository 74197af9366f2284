#include <gtest/gtest.h>

#include <string>

#include "egl/front/thunks.h"

namespace tally::egl {
namespace {

const std::string kName(kExtensionName);

TEST(ExtensionString, the_name_is_added_at_the_end) {
  EXPECT_EQ(with_extension("EGL_A EGL_B"), "EGL_A EGL_B " + kName);
  EXPECT_EQ(with_extension("EGL_A "), "EGL_A " + kName);
  EXPECT_EQ(with_extension(""), kName);
}

TEST(ExtensionString, a_list_that_has_it_stays_as_it_is) {
  for (const std::string& list : {kName, "EGL_A " + kName, kName + " EGL_A"}) {
    EXPECT_EQ(with_extension(list.c_str()), list.c_str());
  }
}

TEST(ExtensionString, part_of_a_longer_name_is_not_the_name) {
  EXPECT_EQ(with_extension((kName + "2").c_str()), kName + "2 " + kName);
  EXPECT_EQ(with_extension(("X" + kName).c_str()), "X" + kName + " " + kName);
}

TEST(ExtensionString, the_same_list_gives_the_same_pointer) {
  EXPECT_EQ(with_extension("EGL_Q"), with_extension("EGL_Q"));
}

TEST(ExtensionString, null_stays_null) { EXPECT_EQ(with_extension(nullptr), nullptr); }

}  // namespace
}  // namespace tally::egl
