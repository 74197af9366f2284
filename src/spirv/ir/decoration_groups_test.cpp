#include "spirv/ir/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Two blocks of one group for each member, two variables of one group.
constexpr std::string_view kGroups = R"(
  OpName %first "first"
  OpDecorate %first Offset 0
  OpDecorate %first NonWritable
  OpDecorate %second Offset 4
  OpDecorate %flat Flat
  OpDecorate %flat Restrict
  %first = OpDecorationGroup
  %second = OpDecorationGroup
  %flat = OpDecorationGroup
  OpGroupMemberDecorate %first %5 0 %6 0
  OpGroupMemberDecorate %second %5 1 %6 1
  OpGroupDecorate %flat %7 %8
  %u32 = OpTypeInt 32 0
  %5 = OpTypeStruct %u32 %u32
  %6 = OpTypeStruct %u32 %u32
  %pointer = OpTypePointer Private %u32
  %7 = OpVariable %pointer Private
  %8 = OpVariable %pointer Private
  %void = OpTypeVoid
  %function = OpTypeFunction %void
  %main = OpFunction %void None %function
  %entry = OpLabel
  OpReturn
  OpFunctionEnd
)";

TEST(decoration_groups, each_decoration_stands_at_what_it_decorates) {
  const auto module = parse_without_groups(test::assemble_shader(kGroups));
  ASSERT_TRUE(module);
  EXPECT_FALSE(module->decorates_in_groups());
  for (const uint32_t block : {5u, 6u}) {
    EXPECT_EQ(module->member_decoration(block, 0, spv::Decoration::Offset), 0u);
    EXPECT_EQ(module->member_decoration(block, 1, spv::Decoration::Offset), 4u);
    EXPECT_TRUE(module->member_decoration(block, 0, spv::Decoration::NonWritable));
    EXPECT_FALSE(module->member_decoration(block, 1, spv::Decoration::NonWritable));
  }
  for (const uint32_t variable : {7u, 8u}) {
    EXPECT_TRUE(module->decoration(variable, spv::Decoration::Flat));
    EXPECT_TRUE(module->decoration(variable, spv::Decoration::Restrict));
  }
}

TEST(decoration_groups, nothing_of_a_group_is_left) {
  const auto module = parse_without_groups(test::assemble_shader(kGroups));
  const std::string text = test::disassemble(module->words());
  EXPECT_THAT(text, Not(HasSubstr("Group")));
  EXPECT_THAT(text, Not(HasSubstr("OpName")));
  EXPECT_EQ(module->blocks().size(), 1u);
}

std::vector<std::string> lines_that_decorate(const Module& module) {
  std::vector<std::string> lines;
  std::istringstream text(test::disassemble(module.words()));
  for (std::string line; std::getline(text, line);) {
    if (const size_t begin = line.find("Op"); line.find("Decorate") != std::string::npos) {
      lines.push_back(line.substr(begin));
    }
  }
  return lines;
}

// %5 has Offset 0 by itself, by a group, and by another that decorates it twice.
TEST(decoration_groups, what_is_decorated_alike_by_several_is_decorated_once) {
  const auto module = parse_without_groups(test::assemble_shader(R"(
    OpMemberDecorate %5 0 Offset 0
    OpDecorate %7 NonWritable
    OpDecorate %first Offset 0
    OpDecorate %second Offset 0
    OpDecorate %other NonWritable
    OpDecorate %other Restrict
    %first = OpDecorationGroup
    %second = OpDecorationGroup
    %other = OpDecorationGroup
    OpGroupMemberDecorate %first %5 0 %5 1
    OpGroupMemberDecorate %second %5 0 %5 1 %5 0
    OpGroupDecorate %other %7 %7 %8
    OpDecorate %8 Restrict
    %u32 = OpTypeInt 32 0
    %5 = OpTypeStruct %u32 %u32
    %pointer = OpTypePointer Private %u32
    %7 = OpVariable %pointer Private
    %8 = OpVariable %pointer Private
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %main = OpFunction %void None %function
    %entry = OpLabel
    OpReturn
    OpFunctionEnd
  )"));
  ASSERT_TRUE(module);
  EXPECT_THAT(lines_that_decorate(*module),
              ElementsAre("OpMemberDecorate %5 0 Offset 0", "OpDecorate %7 NonWritable",
                          "OpMemberDecorate %5 1 Offset 0", "OpDecorate %7 Restrict",
                          "OpDecorate %8 NonWritable", "OpDecorate %8 Restrict"));
}

// The validator accepts them behind groups alone.
TEST(decoration_groups, contradictions_and_built_ins_of_values_are_left_out) {
  const test::Words words = test::assemble(R"(
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main" %index
    OpExecutionMode %main LocalSize 1 1 1
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %offset Offset 16
    OpDecorate %buffer BufferBlock
    OpDecorate %indices BuiltIn LocalInvocationIndex
    OpDecorate %indices RelaxedPrecision
    %offset = OpDecorationGroup
    %buffer = OpDecorationGroup
    %indices = OpDecorationGroup
    OpGroupMemberDecorate %offset %block 0
    OpGroupDecorate %buffer %block
    OpGroupDecorate %indices %index %sum
    %u32 = OpTypeInt 32 0
    %block = OpTypeStruct %u32
    %pointer = OpTypePointer Input %u32
    %index = OpVariable %pointer Input
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %main = OpFunction %void None %function
    %entry = OpLabel
    %loaded = OpLoad %u32 %index
    %sum = OpIAdd %u32 %loaded %loaded
    OpReturn
    OpFunctionEnd
  )",
                                           make_version(1, 0));
  ASSERT_EQ(test::validate(words), "");
  const auto module = parse_without_groups(words);
  ASSERT_TRUE(module);
  EXPECT_EQ(test::validate(module->words()), "");
  EXPECT_THAT(lines_that_decorate(*module),
              ElementsAre(HasSubstr("Block"), HasSubstr("Offset 0"),
                          HasSubstr("BuiltIn LocalInvocationIndex"), HasSubstr("RelaxedPrecision"),
                          HasSubstr("RelaxedPrecision")));
}

TEST(decoration_groups, modules_without_them_are_as_they_were) {
  for (const test::NamedModule& module : test::corpus()) {
    const auto parsed = parse_without_groups(module.words);
    ASSERT_TRUE(parsed) << module.name;
    EXPECT_TRUE(std::ranges::equal(parsed->words(), module.words)) << module.name;
  }
}

TEST(decoration_groups, groups_that_would_take_too_many_words_are_refused) {
  test::Words words = {spv::MagicNumber, make_version(1, 0), 0, 100, 0};
  const auto add = [&](const test::Words& instruction) {
    words.insert(words.end(), instruction.begin(), instruction.end());
  };
  constexpr auto kFlat = static_cast<uint32_t>(spv::Decoration::Flat);
  for (int i = 0; i < 1000; ++i) add(test::instruction(spv::Op::OpDecorate, {1, kFlat}));
  add(test::instruction(spv::Op::OpDecorationGroup, {1}));
  test::Words targets = {60'000u << spv::WordCountShift |
                         static_cast<uint32_t>(spv::Op::OpGroupDecorate)};
  targets.resize(60'000, 1);
  add(targets);
  const auto module = parse_without_groups(words);
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().message, "SPIR-V: the decoration groups are too large");
}

}  // namespace
}  // namespace tally::spirv
