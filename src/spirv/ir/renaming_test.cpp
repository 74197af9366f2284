#include "spirv/ir/editor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using ::testing::HasSubstr;

TEST(Renaming, an_entry_point_gets_another_name) {
  const Module module = test::parsed(test::corpus_module("plain.vert.spv"));
  for (const char* name : {"x", "main", "a_name_that_is_longer"}) {
    const Module renamed =
        test::parsed(with_entry_point_name(module, module.entry_points()[0], name));
    ASSERT_EQ(renamed.entry_points().size(), 1u);
    EXPECT_EQ(renamed.entry_points()[0].name, name);
    EXPECT_EQ(renamed.entry_points()[0].interface, module.entry_points()[0].interface);
    EXPECT_EQ(test::validate(renamed.words()), "");
  }
}

TEST(Renaming, strings_get_another_text) {
  const Module module =
      test::parsed(test::assemble_shader("%a = OpString \"x.comp\"\n"
                                         "%b = OpString \"x.comp.glsl\""));
  const std::string text =
      test::disassemble(with_string(module, "x.comp", "shaders/a longer name.comp"));
  EXPECT_THAT(text, HasSubstr("OpString \"shaders/a longer name.comp\""));
  EXPECT_THAT(text, HasSubstr("OpString \"x.comp.glsl\""));
}

}  // namespace
}  // namespace tally::spirv
