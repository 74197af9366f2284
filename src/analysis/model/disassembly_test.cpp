#include "analysis/model/disassembly.h"

#include <gtest/gtest.h>
#include <spirv-tools/libspirv.h>

#include <cstring>

namespace tally::analysis {
namespace {

std::vector<uint32_t> assemble(const char* text) {
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
  spv_binary binary = nullptr;
  spvTextToBinary(context, text, std::strlen(text), &binary, nullptr);
  std::vector<uint32_t> words;
  if (binary != nullptr) words.assign(binary->code, binary->code + binary->wordCount);
  spvBinaryDestroy(binary);
  spvContextDestroy(context);
  return words;
}

spirv::Module parse(const std::vector<uint32_t>& words) {
  auto module = spirv::Module::parse(words);
  EXPECT_TRUE(module.ok());
  return std::move(*module);
}

TEST(Disassembly, has_one_line_per_instruction_even_with_line_breaks_in_strings) {
  const auto module =
      parse(assemble("OpCapability Shader\n"
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
  const auto lines = disassemble(parse(words));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2], "%1 = OpTypeVoid");
  EXPECT_EQ(lines[3], "Op#65520 7");
}

}  // namespace
}  // namespace tally::analysis
