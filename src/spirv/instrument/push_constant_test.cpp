#include "spirv/instrument/push_constant.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::compute_options;
using test::count_of;
using test::header;
using test::instrument;
using test::instrumented;
using test::kCompute;
using test::kEarlyReturn;
using test::kTypes;
using test::readable;
using test::refusal;
using testing::HasSubstr;

const std::string kPush =
    "OpDecorate %Push Block\nOpMemberDecorate %Push 0 Offset 0\nOpMemberDecorate %Push 1 Offset "
    "4\n";
const std::string kPushTypes =
    "%float = OpTypeFloat 32\n%Push = OpTypeStruct %float %float\n"
    "%push_pointer = OpTypePointer PushConstant %Push\n"
    "%push = OpVariable %push_pointer PushConstant\n";

std::string use_of_push_constants(const std::string& use, const std::string& types = "") {
  return header(kCompute) + kPush + kTypes + kPushTypes + types +
         "%main = OpFunction %void None %fn\n%start = OpLabel\n" + use +
         "OpReturn\nOpFunctionEnd\n";
}

// A block of so many floats, one behind the other.
std::string use_of_array_of_push_constants(int length) {
  return header(kCompute) +
         "OpDecorate %floats ArrayStride 4\nOpMemberDecorate %Push 0 Offset 0\n"
         "OpDecorate %Push Block\n" +
         std::string(kTypes) +
         fmt::format(
             "%float = OpTypeFloat 32\n%u32 = OpTypeInt 32 0\n%length = OpConstant %u32 {}\n",
             length) +
         "%floats = OpTypeArray %float %length\n%Push = OpTypeStruct %floats\n"
         "%push_pointer = OpTypePointer PushConstant %Push\n"
         "%push = OpVariable %push_pointer PushConstant\n"
         "%main = OpFunction %void None %fn\n%start = OpLabel\n"
         "%all = OpLoad %Push %push\nOpReturn\nOpFunctionEnd\n";
}

TEST(PushConstant, without_push_constants_the_entry_point_gets_its_own) {
  const std::string text =
      instrumented(header(kCompute) + kTypes + kEarlyReturn, compute_options());
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 0 Offset 16"));
}

TEST(PushConstant, push_constants_get_a_further_member) {
  const std::string text =
      instrumented(use_of_push_constants(
                       "%at = OpAccessChain %float_pointer %push %one\n%v = OpLoad %float %at\n",
                       "%int = OpTypeInt 32 1\n%one = OpConstant %int 1\n"
                       "%float_pointer = OpTypePointer PushConstant %float\n"),
                   compute_options());
  EXPECT_THAT(text, testing::ContainsRegex("OpTypeStruct %float %float %v2uint"));
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 1 Offset 4"));
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 2 Offset 16"));
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_PushConstant"), 1u);
}

TEST(PushConstant, push_constants_loaded_as_a_whole_are_loaded_by_member) {
  const std::string text =
      instrumented(use_of_push_constants("%all = OpLoad %Push %push\n"), compute_options());
  EXPECT_THAT(text,
              testing::ContainsRegex("OpCompositeConstruct %[A-Za-z0-9_]+ %[0-9]+ %[0-9]+\n"));
}

// zink lists its push constants whether or not a shader uses them, and Mesa takes no second ones.
TEST(PushConstant, push_constants_that_are_not_used_get_the_member_too) {
  const std::string unused = use_of_push_constants("");
  const std::string text = instrumented(unused, compute_options());
  EXPECT_THAT(text, testing::ContainsRegex("OpTypeStruct %float %float %v2uint"));
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_PushConstant"), 1u);

  std::string listed = unused;
  listed.replace(listed.find("\"main\""), 6, "\"main\" %push");
  auto words = test::assemble(listed, make_version(1, 5));
  EXPECT_EQ(count_of(readable(instrument(words, compute_options()).words),
                     "OpVariable %_ptr_PushConstant"),
            1u);
}

TEST(PushConstant, push_constants_of_other_entry_points_stay_as_they_are) {
  const auto words = test::assemble(use_of_push_constants(""), make_version(1, 5));
  const std::string text = readable(instrument(words, compute_options()).words);
  EXPECT_THAT(text, HasSubstr("OpVariable %_ptr_PushConstant__struct_2 "));
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_PushConstant"), 2u);
}

TEST(PushConstant, unused_push_constants_in_the_way_stay_as_they_are) {
  BlockCountOptions options = compute_options();
  options.address.push_constant_offset = 0;
  const std::string text = instrumented(use_of_push_constants(""), options);
  EXPECT_THAT(text, HasSubstr("OpVariable %_ptr_PushConstant__struct_2 "));
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_PushConstant"), 2u);
}

TEST(PushConstant, push_constants_in_the_way_are_refused) {
  BlockCountOptions options = compute_options();
  options.address.push_constant_offset = 0;
  EXPECT_EQ(refusal(use_of_push_constants("%all = OpLoad %Push %push\n"), options),
            "its push-constant block extends beyond byte 0");
  EXPECT_EQ(refusal(use_of_array_of_push_constants(5), compute_options()),
            "its push-constant block extends beyond byte 16");
  EXPECT_EQ(count_of(instrumented(use_of_array_of_push_constants(4), compute_options()),
                     "OpVariable %_ptr_PushConstant"),
            1u);
  options.address.push_constant_offset = 12;
  EXPECT_EQ(refusal(use_of_push_constants(""), options),
            "the push constant offset is not a multiple of 8");
}

BlockCountOptions moving_options(uint32_t block_address) {
  BlockCountOptions options = compute_options();
  options.address.block_address = block_address;
  options.address.push_constant_offset = block_address + 8;
  return options;
}

TEST(PushConstant, blocks_that_reach_the_address_of_their_copy_are_moved_to_memory) {
  const std::string text = instrumented(use_of_array_of_push_constants(64), moving_options(232));
  EXPECT_THAT(text, testing::ContainsRegex("OpTypeStruct %v2uint %v2uint"));
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 0 Offset 232"));
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 1 Offset 240"));
  EXPECT_THAT(text, testing::ContainsRegex("OpBitcast %_ptr_PhysicalStorageBuffer_"));
  EXPECT_THAT(text, testing::ContainsRegex("OpLoad %_struct_[0-9]+ %[0-9]+ Aligned 4"));
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_PushConstant"), 1u);
}

TEST(PushConstant, blocks_that_end_before_the_address_stay) {
  const std::string text = instrumented(use_of_array_of_push_constants(58), moving_options(232));
  EXPECT_EQ(count_of(text, "Aligned 4\n"),
            count_of(instrumented(use_of_array_of_push_constants(58),
                                  [] {
                                    BlockCountOptions options = compute_options();
                                    options.address.push_constant_offset = 240;
                                    return options;
                                  }()),
                     "Aligned 4\n"));
  EXPECT_THAT(text, testing::ContainsRegex("OpTypeStruct %_arr_float_uint_58 %v2uint"));
}

TEST(PushConstant, accesses_to_members_of_moved_blocks_keep_their_members) {
  const std::string code = use_of_push_constants(
      "%at = OpAccessChain %float_pointer %push %one\n%v = OpLoad %float %at Volatile\n",
      "%int = OpTypeInt 32 1\n%one = OpConstant %int 1\n"
      "%float_pointer = OpTypePointer PushConstant %float\n");
  const std::string text = instrumented(code, moving_options(0));
  EXPECT_THAT(text, testing::ContainsRegex(
                        "OpAccessChain %_ptr_PhysicalStorageBuffer_float %[0-9]+ %int_1\n"));
  EXPECT_THAT(text, testing::ContainsRegex("OpLoad %float %[0-9]+ Volatile\\|Aligned 4"));
}

// A stage that counts nothing may be in a pipeline whose other stages count.
TEST(PushConstant, blocks_are_moved_where_nothing_counts) {
  BlockCountOptions options = moving_options(232);
  options.count_blocks = false;
  const std::string text = instrumented(use_of_array_of_push_constants(64), options);
  EXPECT_THAT(text, testing::ContainsRegex("OpLoad %_struct_[0-9]+ %[0-9]+ Aligned 4"));
  EXPECT_EQ(text.find("OpAtomicIAdd"), text.npos);
}

TEST(PushConstant, blocks_of_small_types_are_not_moved) {
  std::string code = use_of_array_of_push_constants(64);
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = code.find(from); at != code.npos; at = code.find(from, at + to.size())) {
      code.replace(at, from.size(), to);
    }
  };
  replace("OpTypeFloat 32", "OpTypeFloat 16");
  replace("OpCapability Shader\n",
          "OpCapability Shader\nOpCapability Float16\nOpCapability StoragePushConstant16\n");
  EXPECT_EQ(refusal(code, moving_options(232)),
            "its push-constant block has members that cannot be moved to memory");
}

// The same block, its members decorated by groups, the second at byte `second`.
std::string use_of_grouped_push_constants(int second) {
  return header(kCompute) + "OpDecorate %block Block\nOpDecorate %first Offset 0\n" +
         fmt::format("OpDecorate %second Offset {}\n", second) +
         "%block = OpDecorationGroup\n%first = OpDecorationGroup\n%second = OpDecorationGroup\n"
         "OpGroupDecorate %block %Push\nOpGroupMemberDecorate %first %Push 0\n"
         "OpGroupMemberDecorate %second %Push 1\n" +
         kTypes + kPushTypes +
         "%main = OpFunction %void None %fn\n%start = OpLabel\n"
         "%all = OpLoad %Push %push\nOpReturn\nOpFunctionEnd\n";
}

TEST(PushConstant, members_that_groups_decorate_keep_their_offsets) {
  const std::string text = instrumented(use_of_grouped_push_constants(8), compute_options());
  EXPECT_THAT(text, testing::ContainsRegex("OpTypeStruct %float %float %v2uint"));
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 0 Offset 0"));
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 1 Offset 8"));
  EXPECT_THAT(text, testing::ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 2 Offset 16"));
  EXPECT_EQ(refusal(use_of_grouped_push_constants(16), compute_options()),
            "its push-constant block extends beyond byte 16");
}

// SPIRV-Tools of Debian 12 does not know the instructions: their first words are numbers.
TEST(PushConstant, untyped_push_constants_are_refused) {
  const std::string text =
      header(kCompute) + kPush + kTypes +
      "%float = OpTypeFloat 32\n%Push = OpTypeStruct %float %float\n"
      "%u32 = OpTypeInt 32 0\n%one = OpConstant %u32 1\n"
      "!0x00031141 %untyped !9\n"              // OpTypeUntypedPointerKHR PushConstant
      "!0x00051142 %untyped %push !9 %Push\n"  // OpUntypedVariableKHR PushConstant
      "%main = OpFunction %void None %fn\n%start = OpLabel\n"
      "!0x00061143 %untyped %at %Push %push %one\n"  // OpUntypedAccessChainKHR
      "%v = OpLoad %float %at\nOpReturn\nOpFunctionEnd\n";
  EXPECT_EQ(refusal(text, compute_options()), "its push-constant block has no type");
}

TEST(PushConstant, push_constants_whose_address_is_taken_are_refused) {
  EXPECT_EQ(refusal(use_of_push_constants("%copy = OpCopyObject %push_pointer %push\n"),
                    compute_options()),
            "it takes the address of its push-constant block");
}

}  // namespace
}  // namespace tally::spirv
