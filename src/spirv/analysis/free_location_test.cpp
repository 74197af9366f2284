#include "spirv/analysis/interface.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

// The free location of a vertex shader with outputs %a and %b of these types, decorated as given.
std::optional<uint32_t> free_behind(std::string_view decorations, std::string_view type_a,
                                    std::string_view type_b = "%f32") {
  const Module module = test::parsed(test::assemble(fmt::format(R"(
    OpCapability Shader
    OpCapability Float64
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %main "main" %a %b %input
    OpDecorate %input Location 20
    OpDecorate %length SpecId 0
    {}
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %u32 = OpTypeInt 32 0
    %bool = OpTypeBool
    %f32 = OpTypeFloat 32
    %f64 = OpTypeFloat 64
    %vec4 = OpTypeVector %f32 4
    %dvec2 = OpTypeVector %f64 2
    %dvec3 = OpTypeVector %f64 3
    %mat3x4 = OpTypeMatrix %vec4 3
    %dmat2x3 = OpTypeMatrix %dvec3 2
    %c2 = OpConstant %u32 2
    %c5 = OpConstant %u32 5
    %most = OpConstant %u32 4294967295
    %length = OpSpecConstant %u32 2
    %f32x5 = OpTypeArray %f32 %c5
    %mat3x4x2 = OpTypeArray %mat3x4 %c2
    %f32x5x2 = OpTypeArray %f32x5 %c2
    %huge = OpTypeArray %f32 %most
    %huger = OpTypeArray %huge %most
    %unknown = OpTypeArray %f32 %length
    %open = OpTypeRuntimeArray %f32
    %inner = OpTypeStruct %vec4 %dvec3
    %block = OpTypeStruct %vec4 %f32x5 %inner %f32
    %blocks = OpTypeArray %block %c2
    %pa = OpTypePointer Output {}
    %pb = OpTypePointer Output {}
    %pi = OpTypePointer Input %f32
    %a = OpVariable %pa Output
    %b = OpVariable %pb Output
    %input = OpVariable %pi Input
    %main = OpFunction %void None %fn
    %start = OpLabel
    OpReturn
    OpFunctionEnd
  )",
                                                                decorations, type_a, type_b)));
  return first_free_location(module, module.entry_points()[0], spv::StorageClass::Output);
}

constexpr std::string_view kNoOther = "OpDecorate %b BuiltIn PointSize\n";

std::optional<uint32_t> free_behind_one(std::string_view decorations, std::string_view type) {
  return free_behind(fmt::format("{}{}", kNoOther, decorations), type);
}

std::optional<uint32_t> free_behind_one_at_3(std::string_view type) {
  return free_behind_one("OpDecorate %a Location 3", type);
}

TEST(FreeLocation, is_0_where_all_is_built_in) {
  EXPECT_EQ(free_behind_one("OpDecorate %a BuiltIn Position", "%vec4"), 0u);
  EXPECT_EQ(free_behind_one("OpMemberDecorate %inner 0 BuiltIn Position\n"
                            "OpMemberDecorate %inner 1 BuiltIn PointSize",
                            "%inner"),
            0u);
}

TEST(FreeLocation, is_that_behind_the_last_variable) {
  EXPECT_EQ(free_behind("OpDecorate %a Location 3\nOpDecorate %b Location 1", "%vec4"), 4u);
  EXPECT_EQ(free_behind("OpDecorate %a Location 0\nOpDecorate %b Location 7", "%vec4"), 8u);
}

TEST(FreeLocation, components_share_a_location) {
  EXPECT_EQ(free_behind("OpDecorate %a Location 3\nOpDecorate %b Location 3\n"
                        "OpDecorate %a Component 1\nOpDecorate %b Component 2",
                        "%f32"),
            4u);
}

TEST(FreeLocation, knows_the_size_of_each_type) {
  EXPECT_EQ(free_behind_one_at_3("%u32"), 4u);
  EXPECT_EQ(free_behind_one_at_3("%vec4"), 4u);
  EXPECT_EQ(free_behind_one_at_3("%f64"), 4u);
  EXPECT_EQ(free_behind_one_at_3("%dvec2"), 4u);
  EXPECT_EQ(free_behind_one_at_3("%dvec3"), 5u);
  EXPECT_EQ(free_behind_one_at_3("%mat3x4"), 6u);
  EXPECT_EQ(free_behind_one_at_3("%dmat2x3"), 7u);
  EXPECT_EQ(free_behind_one_at_3("%f32x5"), 8u);
  EXPECT_EQ(free_behind_one_at_3("%f32x5x2"), 13u);
  EXPECT_EQ(free_behind_one_at_3("%mat3x4x2"), 9u);
}

TEST(FreeLocation, members_without_a_location_follow_each_other) {
  EXPECT_EQ(free_behind_one_at_3("%inner"), 6u);
  EXPECT_EQ(free_behind_one_at_3("%block"), 3u + 1 + 5 + 3 + 1);
  EXPECT_EQ(
      free_behind_one("OpDecorate %a Location 3\nOpMemberDecorate %block 2 Location 12", "%block"),
      12u + 3 + 1);
}

TEST(FreeLocation, members_stand_where_they_say) {
  EXPECT_EQ(free_behind_one("OpMemberDecorate %inner 0 Location 9\n"
                            "OpMemberDecorate %inner 1 Location 2",
                            "%inner"),
            10u);
}

TEST(FreeLocation, arrays_of_blocks_follow_each_other) {
  EXPECT_EQ(free_behind_one_at_3("%blocks"), 3u + 2 * 10);
  EXPECT_EQ(free_behind_one("OpMemberDecorate %block 0 Location 1\n"
                            "OpMemberDecorate %block 1 Location 2\n"
                            "OpMemberDecorate %block 2 Location 7\n"
                            "OpMemberDecorate %block 3 Location 10\n",
                            "%blocks"),
            1u + 2 * 10);
}

TEST(FreeLocation, of_another_storage_class_does_not_count) {
  EXPECT_EQ(free_behind_one_at_3("%f32"), 4u);  // the input stands at 20
}

TEST(FreeLocation, cannot_be_told_where_a_location_or_a_length_is_not_known) {
  EXPECT_EQ(free_behind_one("", "%vec4"), std::nullopt);
  EXPECT_EQ(free_behind_one("OpMemberDecorate %inner 1 Location 2", "%inner"), std::nullopt);
  EXPECT_EQ(free_behind_one_at_3("%unknown"), std::nullopt);
  EXPECT_EQ(free_behind_one_at_3("%open"), std::nullopt);
  EXPECT_EQ(free_behind_one_at_3("%bool"), std::nullopt);
  EXPECT_EQ(free_behind_one_at_3("%huger"), std::nullopt);
  EXPECT_EQ(free_behind_one("OpDecorate %a Location 4294967295", "%vec4"), std::nullopt);
}

TEST(FreeLocation, cannot_be_told_where_groups_are_decorated) {
  EXPECT_EQ(free_behind_one("OpDecorate %group Location 5\n%group = OpDecorationGroup\n"
                            "OpGroupDecorate %group %a",
                            "%vec4"),
            std::nullopt);
}

std::optional<uint32_t> free_behind_inputs(std::string_view decorations) {
  const Module module = test::parsed(test::assemble(fmt::format(R"(
    OpCapability Shader
    OpCapability FragmentBarycentricKHR
    OpExtension "SPV_KHR_fragment_shader_barycentric"
    OpMemoryModel Logical GLSL450
    OpEntryPoint Fragment %main "main" %plain %blocks
    OpExecutionMode %main OriginUpperLeft
    {}
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %u32 = OpTypeInt 32 0
    %f32 = OpTypeFloat 32
    %c2 = OpConstant %u32 2
    %c3 = OpConstant %u32 3
    %f32x2 = OpTypeArray %f32 %c2
    %f32x2x3 = OpTypeArray %f32x2 %c3
    %block = OpTypeStruct %f32 %f32
    %block_x3 = OpTypeArray %block %c3
    %pp = OpTypePointer Input %f32x2x3
    %pb = OpTypePointer Input %block_x3
    %plain = OpVariable %pp Input
    %blocks = OpVariable %pb Input
    %main = OpFunction %void None %fn
    %start = OpLabel
    OpReturn
    OpFunctionEnd
  )",
                                                                decorations)));
  return first_free_location(module, module.entry_points()[0], spv::StorageClass::Input);
}

TEST(FreeLocation, the_vertices_of_a_primitive_share_their_locations) {
  EXPECT_EQ(free_behind_inputs("OpDecorate %plain PerVertexKHR\nOpDecorate %plain Location 4\n"
                               "OpDecorate %blocks PerVertexKHR\nOpDecorate %blocks Location 1\n"),
            6u);
  EXPECT_EQ(free_behind_inputs("OpDecorate %plain PerVertexKHR\nOpDecorate %plain Location 0\n"
                               "OpMemberDecorate %block 0 PerVertexKHR\n"
                               "OpMemberDecorate %block 1 PerVertexKHR\n"
                               "OpDecorate %blocks Location 7\n"),
            9u);
}

}  // namespace
}  // namespace tally::spirv
