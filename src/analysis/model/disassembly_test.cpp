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
  EXPECT_EQ(lines[2], "       %void = OpTypeVoid");
  EXPECT_EQ(lines[3], "               Op#65520 7");
}

std::vector<uint32_t> instruction(uint32_t opcode, std::initializer_list<uint32_t> operands) {
  std::vector<uint32_t> words = {static_cast<uint32_t>(operands.size() + 1) << 16 | opcode};
  words.insert(words.end(), operands);
  return words;
}

std::vector<std::string> listing_of(std::initializer_list<std::vector<uint32_t>> instructions) {
  std::vector<uint32_t> words = {spv::MagicNumber, 0x00010600, 0, 100, 0};
  for (const auto& one : instructions) words.insert(words.end(), one.begin(), one.end());
  return disassemble(parsed(words));
}

// SPIRV-Tools 2023.1 knows none of these. The texts are those of SPIRV-Tools 2026.4.
TEST(Disassembly, newer_enumerants_and_opcodes_have_names) {
  const auto lines = listing_of({
      instruction(17, {6022}),                 // capability
      instruction(15, {5, 1, 0x6e69616d, 0}),  // GLCompute "main"
      instruction(16, {1, 6023}),              // execution mode
      instruction(21, {2, 32, 0}),             // uint
      instruction(22, {3, 16}),                // half
      instruction(22, {4, 16, 0}),             // with an encoding
      instruction(43, {2, 5, 3}),              // uint_3
      instruction(4456, {6, 3, 5, 5, 5, 5}),   // cooperative matrix
      instruction(4417, {7, 12}),              // untyped pointer
  });
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "               OpCapability CooperativeMatrixKHR",
                "               OpEntryPoint GLCompute %1 \"main\"",
                "               OpExecutionMode %1 MaximallyReconvergesKHR",
                "       %uint = OpTypeInt 32 0",
                "       %half = OpTypeFloat 16",
                "   %bfloat16 = OpTypeFloat 16 BFloat16KHR",
                "     %uint_3 = OpConstant %uint 3",
                "          %6 = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_3 %uint_3 %uint_3",
                "%_ptr_StorageBuffer = OpTypeUntypedPointerKHR StorageBuffer",
            }));
}

TEST(Disassembly, what_the_grammar_does_not_know_is_a_number_among_names) {
  const auto lines = listing_of({
      instruction(17, {60000}), instruction(21, {2, 32, 0}),
      instruction(62, {2, 2, 0x40000001}),     // Volatile and a bit without a name
      instruction(62, {2, 2, 0x2, 16, 7, 8}),  // Aligned 16, and words too many
  });
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "               OpCapability 60000",
                       "       %uint = OpTypeInt 32 0",
                       "               OpStore %uint %uint Volatile|0x40000000",
                       "               OpStore %uint %uint Aligned 16 7 8",
                   }));
}

}  // namespace
}  // namespace tally::analysis
