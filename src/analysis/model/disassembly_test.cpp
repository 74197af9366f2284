#include "analysis/model/disassembly.h"

#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::analysis {
namespace {

using spirv::test::assemble;
using spirv::test::parsed;

TEST(Disassembly, has_one_line_per_instruction_even_with_line_breaks_in_strings) {
  const auto module =
      parsed(assemble("OpCapability Shader\n"
                      "OpMemoryModel Logical GLSL450\n"
                      "%1 = OpString \"first \\\"quoted\n\nsecond\"\n"
                      "%2 = OpTypeVoid\n"));
  const auto lines = disassemble(module);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_NE(lines[2].find(R"("first \"quoted\n\nsecond")"), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find("OpTypeVoid"), std::string::npos);
}

TEST(Disassembly, of_instructions_unknown_to_the_tools_shows_numbers) {
  auto words = assemble("OpCapability Shader\nOpMemoryModel Logical GLSL450\n%1 = OpTypeVoid\n");
  constexpr uint32_t kUnknownOpcode = 0xFFF0;
  words.push_back(2u << 16 | kUnknownOpcode);
  words.push_back(7);
  const auto lines = disassemble(parsed(words));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2], "%1 = OpTypeVoid");
  EXPECT_EQ(lines[3], "Op#65520 7");
}

}  // namespace
}  // namespace tally::analysis
