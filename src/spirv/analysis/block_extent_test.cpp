#include "spirv/analysis/interface.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

// The extent of a block of these members, e.g. "%u32 %mat3x2", with decorations of its own, e.g.
// "OpMemberDecorate %block 0 Offset 0".
uint64_t extent(std::string_view decorations, std::string_view members) {
  const Module module = test::parsed(test::assemble(fmt::format(R"(
    OpCapability Shader
    OpCapability Float64
    OpMemoryModel Logical GLSL450
    OpDecorate %u32x5 ArrayStride 16
    OpDecorate %vec3x2 ArrayStride 16
    OpDecorate %u32x5x3 ArrayStride 96
    OpDecorate %mat3x2x2 ArrayStride 64
    OpDecorate %huge ArrayStride 4294967295
    OpDecorate %huger ArrayStride 4294967295
    OpMemberDecorate %inner 0 Offset 0
    OpMemberDecorate %inner 1 Offset 8
    {}
    %u32 = OpTypeInt 32 0
    %f32 = OpTypeFloat 32
    %f64 = OpTypeFloat 64
    %vec2 = OpTypeVector %f32 2
    %vec3 = OpTypeVector %f32 3
    %mat3x2 = OpTypeMatrix %vec2 3
    %c2 = OpConstant %u32 2
    %c3 = OpConstant %u32 3
    %c5 = OpConstant %u32 5
    %most = OpConstant %u32 4294967295
    %u32x5 = OpTypeArray %u32 %c5
    %u32x5x3 = OpTypeArray %u32x5 %c3
    %vec3x2 = OpTypeArray %vec3 %c2
    %mat3x2x2 = OpTypeArray %mat3x2 %c2
    %huge = OpTypeArray %u32 %most
    %huger = OpTypeArray %huge %most
    %inner = OpTypeStruct %f64 %vec3
    %block = OpTypeStruct {}
  )",
                                                                decorations, members)));
  const Instruction block = module.instruction(module.instruction_count() - 1);
  return block_extent(module, block.result_id());
}

std::string at(uint32_t member, uint32_t offset) {
  return fmt::format("OpMemberDecorate %block {} Offset {}\n", member, offset);
}

TEST(BlockExtent, the_last_member_in_memory_ends_it) {
  EXPECT_EQ(extent(at(0, 0), "%u32"), 4u);
  EXPECT_EQ(extent(at(0, 16) + at(1, 0), "%vec3 %f64"), 28u);
  EXPECT_EQ(extent(at(0, 0) + at(1, 16), "%f32 %inner"), 16u + 8u + 12u);
}

TEST(BlockExtent, padding_behind_the_last_element_is_left_out) {
  EXPECT_EQ(extent(at(0, 0), "%u32x5"), 4u * 16u + 4u);
  EXPECT_EQ(extent(at(0, 8), "%vec3x2"), 8u + 16u + 12u);
  EXPECT_EQ(extent(at(0, 0), "%u32x5x3"), 2u * 96u + 4u * 16u + 4u);
}

TEST(BlockExtent, matrices_lie_as_their_member_says) {
  const std::string column_major = at(0, 4) + "OpMemberDecorate %block 0 MatrixStride 16\n";
  EXPECT_EQ(extent(column_major, "%mat3x2"), 4u + 2u * 16u + 8u);
  EXPECT_EQ(extent(column_major, "%mat3x2x2"), 4u + 64u + 2u * 16u + 8u);
  const std::string row_major = column_major + "OpMemberDecorate %block 0 RowMajor\n";
  EXPECT_EQ(extent(row_major, "%mat3x2"), 4u + 16u + 12u);
  EXPECT_EQ(extent(row_major, "%mat3x2x2"), 4u + 64u + 16u + 12u);
}

TEST(BlockExtent, more_than_the_memory_of_the_world_saturates) {
  EXPECT_EQ(extent(at(0, 8), "%huge"), 1ull << 62);
  EXPECT_EQ(extent(at(0, 0), "%huger"), 1ull << 62);
}

}  // namespace
}  // namespace tally::spirv
