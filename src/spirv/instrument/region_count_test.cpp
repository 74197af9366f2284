#include "spirv/instrument/region_counting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/catalogue.h"
#include "probe/region.h"
#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::assemble_1_3;
using test::count_of;
using test::header;
using test::instrument;
using test::kTypes;
using test::readable;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

BlockCountOptions options(bool blocks = false) {
  BlockCountOptions options;
  options.stage = spv::ExecutionModel::Fragment;
  options.address.push_constant_offset = 16;
  options.subgroup_operations = true;
  options.count_blocks = blocks;
  options.regions = RegionOptions{spv::Capability::Geometry, true};
  return options;
}

std::string counted(std::span<const uint32_t> words, const BlockCountOptions& with) {
  return readable(instrument(words, with).words);
}

std::vector<uint32_t> fragment(const std::string& body, const std::string& interface = "",
                               const std::string& globals = "") {
  return assemble_1_3(header("OpEntryPoint Fragment %main \"main\"" + interface +
                             "\nOpExecutionMode %main OriginUpperLeft\n") +
                      globals + kTypes + "%main = OpFunction %void None %fn\n%start = OpLabel\n" +
                      body + "OpFunctionEnd\n");
}

const std::string kMayDiscard =
    "OpSelectionMerge %rest None\nOpBranchConditional %true %dies %rest\n"
    "%dies = OpLabel\nOpKill\n%rest = OpLabel\nOpReturn\n";

TEST(RegionCount, the_flush_stands_before_every_way_out) {
  const std::string text = counted(fragment(kMayDiscard), options());
  EXPECT_THAT(text, ContainsRegex("OpFunctionCall %void %tally_flush_region\n *OpKill"));
  EXPECT_THAT(text, ContainsRegex("OpFunctionCall %void %tally_flush_region\n *OpReturn"));
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_flush_region"), 2u);
}

TEST(RegionCount, a_discard_is_noted_before_the_flush) {
  const std::string text = counted(fragment(kMayDiscard), options());
  EXPECT_THAT(text, ContainsRegex("OpStore %[0-9]+ %uint_65536\n"
                                  " *%[0-9]+ = OpFunctionCall %void %tally_flush_region\n"
                                  " *OpKill"));
}

TEST(RegionCount, a_straight_shader_needs_no_variables_for_its_instructions) {
  const std::string text = counted(fragment("OpReturn\n"), options());
  // The enabled counters, both words of the address, and the byte variable.
  EXPECT_EQ(count_of(text, "OpVariable %_ptr_Private_uint Private"), 4u);
  EXPECT_THAT(text, HasSubstr("OpIMul %uint"));
}

TEST(RegionCount, without_subgroup_operations_every_lane_adds) {
  BlockCountOptions without = options();
  without.subgroup_operations = false;
  const std::string text = counted(fragment(kMayDiscard), without);
  EXPECT_THAT(text, Not(HasSubstr("GroupNonUniform")));
  EXPECT_THAT(text, HasSubstr("OpAtomicIAdd %uint"));
}

TEST(RegionCount, the_region_word_stands_behind_the_records) {
  const std::string text = counted(fragment("OpReturn\n"), options());
  EXPECT_THAT(text, ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 0 Offset 16"));
  EXPECT_THAT(text, ContainsRegex("OpMemberDecorate %_struct_[0-9]+ 1 Offset 8"));
  EXPECT_THAT(text,
              ContainsRegex("OpAccessChain %_ptr_PushConstant_v2uint %[0-9]+ %uint_0 %uint_1"));
}

TEST(RegionCount, layers_and_views_are_asked_for_where_the_device_has_them) {
  const std::string with = counted(fragment("OpReturn\n"), options());
  EXPECT_THAT(with, HasSubstr("OpCapability Geometry"));
  EXPECT_THAT(with, HasSubstr("BuiltIn Layer"));
  EXPECT_THAT(with, HasSubstr("BuiltIn ViewIndex"));
  BlockCountOptions flat = options();
  flat.regions = RegionOptions{};
  const std::string without = counted(fragment("OpReturn\n"), flat);
  EXPECT_THAT(without, Not(HasSubstr("Geometry")));
  EXPECT_THAT(without, Not(HasSubstr("BuiltIn Layer")));
  EXPECT_THAT(without, Not(HasSubstr("MultiView")));
}

TEST(RegionCount, a_sample_mask_that_is_there_is_used_again) {
  const std::string text =
      counted(fragment("OpReturn\n", " %mask",
                       "OpDecorate %mask BuiltIn SampleMask\nOpDecorate %mask Flat\n"
                       "%int = OpTypeInt 32 1\n%uint = OpTypeInt 32 0\n%one = OpConstant %uint 1\n"
                       "%array = OpTypeArray %int %one\n%pointer = OpTypePointer Input %array\n"
                       "%mask = OpVariable %pointer Input\n"),
              options());
  EXPECT_EQ(count_of(text, "BuiltIn SampleMask"), 1u);
  EXPECT_THAT(text, HasSubstr("OpBitCount %uint"));
}

// Vulkan wants an array, and drivers take either.
std::vector<uint32_t> with_sample_mask(const std::string& type) {
  return fragment("OpReturn\n", " %mask",
                  "OpDecorate %mask BuiltIn SampleMask\nOpDecorate %mask Flat\n" + type +
                      "%pointer = OpTypePointer Input %type\n%mask = OpVariable %pointer Input\n");
}

TEST(RegionCount, a_sample_mask_that_is_no_array_is_loaded_as_it_is) {
  const auto words = with_sample_mask("%type = OpTypeInt 32 1\n");
  const auto result = add_block_counts(words, options());
  ASSERT_TRUE(result) << result.error().message;
  const std::string text = test::readable(result->words);
  EXPECT_THAT(text, HasSubstr("OpLoad %int %gl_SampleMask"));
  EXPECT_THAT(text, Not(HasSubstr("OpAccessChain %_ptr_Input_int %gl_SampleMask")));
}

TEST(RegionCount, a_sample_mask_of_no_words_is_refused) {
  const auto words = with_sample_mask("%type = OpTypeFloat 32\n");
  const auto result = add_block_counts(words, options());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "its SampleMask is not an array of 32-bit integers");
}

TEST(RegionCount, a_built_in_of_another_type_is_refused) {
  const auto words =
      fragment("OpReturn\n", " %coord",
               "OpDecorate %coord BuiltIn FragCoord\n%type = OpTypeFloat 32\n"
               "%pointer = OpTypePointer Input %type\n%coord = OpVariable %pointer Input\n");
  const auto result = add_block_counts(words, options());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "it declares a built-in with an invalid type");
}

TEST(RegionCount, only_fragment_shaders_have_regions) {
  BlockCountOptions compute = options();
  compute.stage = spv::ExecutionModel::GLCompute;
  const auto result = add_block_counts(
      test::assemble(
          "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
          "OpEntryPoint GLCompute %main \"main\"\nOpExecutionMode %main LocalSize 1 1 1\n" +
          kTypes +
          "%main = OpFunction %void None %fn\n%start = OpLabel\nOpReturn\n"
          "OpFunctionEnd\n"),
      compute);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("fragment"));
}

TEST(RegionCount, tests_stay_early_where_nobody_could_tell) {
  EXPECT_THAT(counted(fragment("OpReturn\n"), options()), HasSubstr("EarlyFragmentTests"));
  EXPECT_THAT(counted(fragment(kMayDiscard), options()), Not(HasSubstr("EarlyFragmentTests")));
}

// Both ways of finding the address, with and without subgroup operations, with and without blocks,
// with and without what not every device has.
TEST(RegionCount, real_fragment_shaders_stay_valid) {
  int shaders = 0;
  for (const test::NamedModule& module : test::corpus()) {
    const Module parsed = test::parsed(module.words);
    if (!parsed.find_entry_point(spv::ExecutionModel::Fragment, "main")) continue;
    ++shaders;
    for (int variant = 0; variant < 16; ++variant) {
      BlockCountOptions with = options((variant & 1) != 0);
      with.address.push_constant_offset = 112;
      with.subgroup_operations = (variant & 2) != 0;
      with.regions->subgroup_clock = with.regions->primitives = (variant & 8) != 0;
      if ((variant & 4) != 0) {
        with.address.kind = AddressSource::Kind::UniformBuffer;
        with.address.set = 7;
      }
      const std::string text = counted(module.words, with);
      EXPECT_THAT(text, HasSubstr("tally_flush_region")) << module.name;
      EXPECT_EQ(text.find("%tally_flush =") != std::string::npos, (variant & 1) != 0)
          << module.name;
      with.regions->primitives = false;
      with.regions->only_invocations = true;
      EXPECT_THAT(counted(module.words, with), HasSubstr("tally_count_in_region")) << module.name;
    }
  }
  EXPECT_GE(shaders, 2);
}

size_t atomics_of(const BlockCountOptions& with) {
  return count_of(counted(fragment(kMayDiscard), with), "OpAtomicIAdd");
}

TEST(RegionCount, the_lanes_of_a_subgroup_share_the_sums_with_one_atomic) {
  BlockCountOptions alone = options();
  alone.subgroup_operations = false;
  EXPECT_EQ(atomics_of(options()), 1u);
  EXPECT_GT(atomics_of(alone), 1u);
}

TEST(RegionCount, no_counter_has_the_bit_of_lanes_that_add_alone) {
  const size_t counters = catalogue::counters_of(catalogue::Scope::Region).size();
  ASSERT_LT(counters, probe::kRegionAccumulators);
  EXPECT_LT((1u << counters) - 1, RegionFlush::kAlone);
}

TEST(RegionCount, a_driver_that_masks_branches_adds_all_counters_with_one_atomic) {
  BlockCountOptions masked = options();
  masked.driver.masks_branches = true;
  EXPECT_EQ(atomics_of(masked), 1u);
}

TEST(RegionCount, invocations_alone_are_added_when_they_begin) {
  for (const bool masks_branches : {false, true}) {
    BlockCountOptions only = options();
    only.driver.masks_branches = masks_branches;
    only.regions->only_invocations = true;
    const std::string text = counted(fragment(kMayDiscard), only);
    EXPECT_EQ(count_of(text, "OpAtomicIAdd"), 1u);
    EXPECT_EQ(count_of(text, "OpVariable %_ptr_Private_uint Private"), 0u);
    EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_count_in_region"), 1u);
    EXPECT_THAT(text, Not(HasSubstr("tally_flush_region")));
  }
}

TEST(RegionCount, a_driver_that_masks_branches_loads_the_block_in_one_lane) {
  BlockCountOptions masked = options();
  masked.driver.masks_branches = true;
  EXPECT_THAT(counted(fragment(kMayDiscard), masked),
              HasSubstr("OpGroupNonUniformBroadcastFirst %uint"));
}

TEST(RegionCount, a_driver_that_masks_branches_still_tests_them_to_count_primitives) {
  BlockCountOptions branches = options();
  branches.int64 = branches.int64_atomics = true;
  branches.regions->primitives = true;
  BlockCountOptions masked = branches;
  masked.driver.masks_branches = true;
  EXPECT_EQ(instrument(fragment(kMayDiscard), masked).words,
            instrument(fragment(kMayDiscard), branches).words);
}

}  // namespace
}  // namespace tally::spirv
