#include "spirv/analysis/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "catalogue/catalogue.h"
#include "spirv/ir/module.h"
#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using Costs = std::map<CostClass, uint64_t>;

constexpr std::string_view kTypes = R"(
  OpCapability Shader
  OpCapability Float64
  OpCapability Float16
  OpCapability Int8
  OpCapability Int16
  OpCapability Int64
  OpCapability GroupNonUniformBallot
  OpCapability ImageQuery
  OpCapability PhysicalStorageBufferAddresses
  OpExtension "SPV_KHR_non_semantic_info"
  %glsl = OpExtInstImport "GLSL.std.450"
  %printf = OpExtInstImport "NonSemantic.DebugPrintf"
  OpMemoryModel PhysicalStorageBuffer64 GLSL450
  OpEntryPoint Fragment %main "main" %in %out
  OpExecutionMode %main OriginUpperLeft
  %format = OpString "x"
  OpDecorate %old_block BufferBlock
  OpDecorate %new_block Block
  %void = OpTypeVoid
  %bool = OpTypeBool
  %i8 = OpTypeInt 8 1
  %i16 = OpTypeInt 16 1
  %i32 = OpTypeInt 32 1
  %u32 = OpTypeInt 32 0
  %u64 = OpTypeInt 64 0
  %f16 = OpTypeFloat 16
  %f32 = OpTypeFloat 32
  %f64 = OpTypeFloat 64
  %bool3 = OpTypeVector %bool 3
  %i8x4 = OpTypeVector %i8 4
  %i16x2 = OpTypeVector %i16 2
  %u32x4 = OpTypeVector %u32 4
  %h4 = OpTypeVector %f16 4
  %v2 = OpTypeVector %f32 2
  %v3 = OpTypeVector %f32 3
  %v4 = OpTypeVector %f32 4
  %d2 = OpTypeVector %f64 2
  %m3x2 = OpTypeMatrix %v3 2
  %m4 = OpTypeMatrix %v4 4
  %m2 = OpTypeMatrix %v2 2
  %m3x4 = OpTypeMatrix %v3 4
  %m2x4 = OpTypeMatrix %v2 4
  %pair = OpTypeStruct %u32 %u32
  %three = OpConstant %u32 3
  %array = OpTypeArray %v3 %three
  %frexp = OpTypeStruct %v3 %v3
  %old_block = OpTypeStruct %u32
  %new_block = OpTypeStruct %array
  %p_old = OpTypePointer Uniform %old_block
  %p_new = OpTypePointer Uniform %new_block
  %p_uniform = OpTypePointer Uniform %u32
  %p_uniform_array = OpTypePointer Uniform %array
  %p_storage = OpTypePointer StorageBuffer %v4
  %p_push = OpTypePointer PushConstant %v2
  %p_shared = OpTypePointer Workgroup %v3
  %p_private = OpTypePointer Private %v3
  %p_function = OpTypePointer Function %m4
  %p_in = OpTypePointer Input %v3
  %p_out = OpTypePointer Output %v4
  %p_physical = OpTypePointer PhysicalStorageBuffer %u64
  %image = OpTypeImage %f32 2D 0 0 0 1 Unknown
  %sampled = OpTypeSampledImage %image
  %p_image = OpTypePointer UniformConstant %sampled
  %function = OpTypeFunction %void
  %in = OpVariable %p_in Input
  %out = OpVariable %p_out Output
  %old = OpVariable %p_old Uniform
  %new = OpVariable %p_new Uniform
  %b = OpUndef %bool
  %b3 = OpUndef %bool3
  %i = OpUndef %i32
  %u = OpUndef %u32
  %w = OpUndef %u64
  %f = OpUndef %f32
  %f3 = OpUndef %v3
  %f4 = OpUndef %v4
  %f2 = OpUndef %v2
  %q = OpUndef %u32x4
  %c4 = OpUndef %i8x4
  %s2 = OpUndef %i16x2
  %half = OpUndef %h4
  %dd = OpUndef %d2
  %mat3x2 = OpUndef %m3x2
  %mat4 = OpUndef %m4
  %mat3x4 = OpUndef %m3x4
  %mat2 = OpUndef %m2
  %buffer = OpUndef %p_storage
  %push = OpUndef %p_push
  %scratch = OpUndef %p_shared
  %own = OpUndef %p_private
  %local = OpUndef %p_function
  %far = OpUndef %p_physical
  %texture = OpUndef %sampled
  %zero = OpConstant %u32 0
  %main = OpFunction %void None %function
  %entry = OpLabel
)";

// The cost of one instruction, besides being one.
Costs cost_of_text(const std::string& text) {
  const Module module =
      test::parsed(test::assemble(std::string(kTypes) + text + "\nOpReturn\nOpFunctionEnd"));
  const BlockRange& block = module.blocks()[0];
  const CostModel costs(module);
  const InstructionMix mix = costs.cost_of(module.instruction(block.end - 2));
  Costs found;
  for (size_t index = 0; index < kCostClassCount; ++index) {
    const auto cost = static_cast<CostClass>(index);
    if (mix[cost] != 0) found[cost] = mix[cost];
  }
  if (found[CostClass::Instruction] == 1) found.erase(CostClass::Instruction);
  return found;
}

const Costs kNothing = {{CostClass::Instruction, 0}};

TEST(cost, arithmetic_counts_components_by_type_and_width) {
  EXPECT_EQ(cost_of_text("%x = OpFAdd %f32 %f %f"), (Costs{{CostClass::Float32, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpFMul %v3 %f3 %f3"), (Costs{{CostClass::Float32, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpFSub %h4 %half %half"), (Costs{{CostClass::Float16, 4}}));
  EXPECT_EQ(cost_of_text("%x = OpFNegate %d2 %dd"), (Costs{{CostClass::Float64, 2}}));
  EXPECT_EQ(cost_of_text("%x = OpIAdd %u32 %u %u"), (Costs{{CostClass::Int32, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpIMul %i8x4 %c4 %c4"), (Costs{{CostClass::Int8, 4}}));
  EXPECT_EQ(cost_of_text("%x = OpBitwiseAnd %i16x2 %s2 %s2"), (Costs{{CostClass::Int16, 2}}));
  EXPECT_EQ(cost_of_text("%x = OpShiftLeftLogical %u64 %w %u"), (Costs{{CostClass::Int64, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpVectorTimesScalar %v3 %f3 %f"), (Costs{{CostClass::Float32, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpMatrixTimesScalar %m4 %mat4 %f"),
            (Costs{{CostClass::Float32, 16}}));
  EXPECT_EQ(cost_of_text("%x = OpIAddCarry %pair %u %u"), (Costs{{CostClass::Int32, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpFDiv %v3 %f3 %f3"), (Costs{{CostClass::Division, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpUMod %u32 %u %u"), (Costs{{CostClass::Division, 1}}));
}

TEST(cost, comparisons_count_by_what_is_compared) {
  EXPECT_EQ(cost_of_text("%x = OpFOrdLessThan %bool %f %f"), (Costs{{CostClass::Float32, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpFOrdLessThan %bool3 %f3 %f3"), (Costs{{CostClass::Float32, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpULessThan %bool %w %w"), (Costs{{CostClass::Int64, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpIsNan %bool3 %f3"), (Costs{{CostClass::Float32, 3}}));
}

TEST(cost, logic_is_its_own_class) {
  EXPECT_EQ(cost_of_text("%x = OpLogicalAnd %bool %b %b"), (Costs{{CostClass::Logic, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpAll %bool %b3"), (Costs{{CostClass::Logic, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpSelect %v3 %b3 %f3 %f3"), (Costs{{CostClass::Logic, 3}}));
}

TEST(cost, products_count_their_multiply_adds) {
  EXPECT_EQ(cost_of_text("%x = OpDot %f32 %f3 %f3"), (Costs{{CostClass::Fma, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpMatrixTimesVector %v4 %mat4 %f4"), (Costs{{CostClass::Fma, 16}}));
  EXPECT_EQ(cost_of_text("%x = OpMatrixTimesVector %v3 %mat3x2 %f2"), (Costs{{CostClass::Fma, 6}}));
  EXPECT_EQ(cost_of_text("%x = OpVectorTimesMatrix %v2 %f3 %mat3x2"), (Costs{{CostClass::Fma, 6}}));
  EXPECT_EQ(cost_of_text("%x = OpMatrixTimesMatrix %m4 %mat4 %mat4"),
            (Costs{{CostClass::Fma, 64}}));
  // 3 rows, 2 columns; times 2 by 2.
  EXPECT_EQ(cost_of_text("%x = OpMatrixTimesMatrix %m3x2 %mat3x2 %mat2"),
            (Costs{{CostClass::Fma, 12}}));
  EXPECT_EQ(cost_of_text("%x = OpOuterProduct %m3x2 %f3 %f2"), (Costs{{CostClass::Float32, 6}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %v3 %glsl Fma %f3 %f3 %f3"), (Costs{{CostClass::Fma, 3}}));
}

TEST(cost, conversions_are_not_reinterpretations) {
  EXPECT_EQ(cost_of_text("%x = OpConvertFToS %i32 %f"), (Costs{{CostClass::Conversion, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpFConvert %h4 %f4"), (Costs{{CostClass::Conversion, 4}}));
  EXPECT_EQ(cost_of_text("%x = OpBitcast %u32 %f"), (Costs{{CostClass::Move, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %u32 %glsl PackHalf2x16 %f2"),
            (Costs{{CostClass::Conversion, 2}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %v4 %glsl UnpackUnorm4x8 %u"),
            (Costs{{CostClass::Conversion, 4}}));
}

TEST(cost, functions_of_glsl_cost_what_they_are_made_of) {
  EXPECT_EQ(cost_of_text("%x = OpExtInst %v3 %glsl Pow %f3 %f3"),
            (Costs{{CostClass::SpecialFunction, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %f32 %glsl InverseSqrt %f"),
            (Costs{{CostClass::SpecialFunction, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %v3 %glsl FMax %f3 %f3"),
            (Costs{{CostClass::Float32, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %i32 %glsl SAbs %i"), (Costs{{CostClass::Int32, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %v3 %glsl FMix %f3 %f3 %f3"),
            (Costs{{CostClass::Fma, 3}, {CostClass::Float32, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %f32 %glsl Length %f3"),
            (Costs{{CostClass::Fma, 3}, {CostClass::SpecialFunction, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %v3 %glsl Normalize %f3"),
            (Costs{{CostClass::Fma, 3}, {CostClass::Float32, 3}, {CostClass::SpecialFunction, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %f32 %glsl Distance %f3 %f3"),
            (Costs{{CostClass::Fma, 3}, {CostClass::Float32, 3}, {CostClass::SpecialFunction, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %frexp %glsl ModfStruct %f3"),
            (Costs{{CostClass::Float32, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %m4 %glsl MatrixInverse %mat4"),
            (Costs{{CostClass::Fma, 64}}));
  EXPECT_EQ(cost_of_text("%x = OpExtInst %v3 %glsl InterpolateAtCentroid %in"),
            (Costs{{CostClass::Interpolation, 3}}));
}

TEST(cost, memory_counts_by_what_it_is_for_with_bytes) {
  EXPECT_EQ(cost_of_text("%x = OpLoad %v4 %buffer"),
            (Costs{{CostClass::BufferLoad, 1}, {CostClass::BufferBytesLoaded, 16}}));
  EXPECT_EQ(cost_of_text("OpStore %buffer %f4"),
            (Costs{{CostClass::BufferStore, 1}, {CostClass::BufferBytesStored, 16}}));
  EXPECT_EQ(cost_of_text("%x = OpLoad %u64 %far Aligned 8"),
            (Costs{{CostClass::BufferLoad, 1}, {CostClass::BufferBytesLoaded, 8}}));
  EXPECT_EQ(cost_of_text("%x = OpLoad %v2 %push"),
            (Costs{{CostClass::UniformLoad, 1}, {CostClass::UniformBytesLoaded, 8}}));
  EXPECT_EQ(cost_of_text("%x = OpLoad %v3 %scratch"),
            (Costs{{CostClass::SharedLoad, 1}, {CostClass::SharedBytesLoaded, 12}}));
  EXPECT_EQ(cost_of_text("OpStore %scratch %f3"),
            (Costs{{CostClass::SharedStore, 1}, {CostClass::SharedBytesStored, 12}}));
  EXPECT_EQ(cost_of_text("%x = OpLoad %v3 %own"), (Costs{{CostClass::LocalLoad, 3}}));
  EXPECT_EQ(cost_of_text("OpStore %local %mat4"), (Costs{{CostClass::LocalStore, 16}}));
  EXPECT_EQ(cost_of_text("%x = OpLoad %v3 %in"), (Costs{{CostClass::VaryingLoad, 3}}));
  EXPECT_EQ(cost_of_text("OpStore %out %f4"), (Costs{{CostClass::VaryingStore, 4}}));
  EXPECT_EQ(cost_of_text("OpCopyMemory %own %scratch"), (Costs{{CostClass::SharedLoad, 1},
                                                               {CostClass::SharedBytesLoaded, 12},
                                                               {CostClass::LocalStore, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpAccessChain %p_uniform %old %zero"),
            (Costs{{CostClass::Address, 1}}));
}

TEST(cost, storage_buffers_of_old_modules_are_no_uniform_buffers) {
  EXPECT_EQ(cost_of_text("%p = OpAccessChain %p_uniform %old %zero\n%x = OpLoad %u32 %p"),
            (Costs{{CostClass::BufferLoad, 1}, {CostClass::BufferBytesLoaded, 4}}));
  EXPECT_EQ(cost_of_text("%p = OpAccessChain %p_uniform_array %new %zero\n%x = OpLoad %array %p"),
            (Costs{{CostClass::UniformLoad, 1}, {CostClass::UniformBytesLoaded, 36}}));
}

TEST(cost, textures_and_cooperation_count_once) {
  EXPECT_EQ(cost_of_text("%x = OpImageSampleImplicitLod %v4 %texture %f2"),
            (Costs{{CostClass::TextureSample, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpImageGather %v4 %texture %f2 %zero"),
            (Costs{{CostClass::TextureGather, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpImageQueryLod %v2 %texture %f2"),
            (Costs{{CostClass::ResourceQuery, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpDPdx %v3 %f3"), (Costs{{CostClass::Derivative, 3}}));
  EXPECT_EQ(cost_of_text("OpMemoryBarrier %three %zero"), (Costs{{CostClass::Barrier, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpGroupNonUniformBallot %u32x4 %three %b"),
            (Costs{{CostClass::Subgroup, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpGroupNonUniformBroadcast %v3 %three %f3 %zero"),
            (Costs{{CostClass::Subgroup, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpFunctionCall %void %main"), (Costs{{CostClass::ControlFlow, 1}}));
}

TEST(cost, composites_count_components) {
  EXPECT_EQ(cost_of_text("%x = OpCompositeConstruct %v3 %f %f %f"), (Costs{{CostClass::Move, 3}}));
  EXPECT_EQ(cost_of_text("%x = OpCompositeExtract %f32 %f3 0"), (Costs{{CostClass::Move, 1}}));
  EXPECT_EQ(cost_of_text("%x = OpVectorShuffle %v4 %f3 %f3 0 1 2 3"),
            (Costs{{CostClass::Move, 4}}));
  EXPECT_EQ(cost_of_text("%x = OpTranspose %m4 %mat4"), (Costs{{CostClass::Move, 16}}));
}

TEST(cost, what_is_not_executed_costs_nothing) {
  EXPECT_EQ(cost_of_text("OpNop"), kNothing);
  EXPECT_EQ(cost_of_text("%x = OpUndef %v4"), kNothing);
  EXPECT_EQ(cost_of_text("OpLine %format 1 1"), kNothing);
  EXPECT_EQ(cost_of_text("%x = OpExtInst %void %printf 1 %format"), kNothing);
}

// --- what SPIRV-Tools of Debian 12 cannot assemble

// A model over the types and values of kTypes, and instructions made by number.
InstructionMix cost_of_words(const Module& module, const test::Words& words) {
  return CostModel(module).cost_of(Instruction(words, 0));
}

constexpr std::string_view kCooperative = R"(
  OpCapability Shader
  OpCapability Linkage
  OpCapability Float16
  OpMemoryModel Logical GLSL450
  %1 = OpTypeInt 32 0
  %2 = OpTypeFloat 16
  %3 = OpConstant %1 3
  %4 = OpSpecConstant %1 16
  %5 = OpConstant %1 8
  %6 = OpConstant %1 32
)";

TEST(cost, cooperative_matrices_count_the_whole_product) {
  test::Words words = test::assemble(kCooperative);
  const auto append = [&](const test::Words& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  const auto opcode = [](uint32_t number) { return static_cast<spv::Op>(number); };
  words[3] = 100;
  append(test::instruction(opcode(4456), {20, 2, 3, 4, 5, 3}));  // 16 x 8
  append(test::instruction(opcode(4456), {21, 2, 3, 5, 6, 3}));  // 8 x 32
  append(test::instruction(opcode(4456), {22, 2, 3, 4, 6, 3}));  // 16 x 32
  append(test::instruction(spv::Op::OpUndef, {20, 30}));
  append(test::instruction(spv::Op::OpUndef, {21, 31}));
  append(test::instruction(spv::Op::OpUndef, {22, 32}));
  const Module module = test::parsed(words);
  const InstructionMix product =
      cost_of_words(module, test::instruction(opcode(4459), {22, 50, 30, 31, 32}));
  EXPECT_EQ(product[CostClass::MatrixMultiplyAdd], 16u * 8 * 32);
  EXPECT_EQ(product[CostClass::Instruction], 1u);
  const InstructionMix sum =
      cost_of_words(module, test::instruction(spv::Op::OpFAdd, {22, 50, 32, 32}));
  EXPECT_EQ(sum[CostClass::Matrix], 1u);
  EXPECT_EQ(sum[CostClass::Float16], 0u);
  // A vector's input by an M x K matrix: 32 x 16.
  const InstructionMix vector =
      cost_of_words(module, test::instruction(opcode(5289), {22, 50, 30, 3, 31, 3, 3, 6, 4, 3, 3}));
  EXPECT_EQ(vector[CostClass::MatrixMultiplyAdd], 32u * 16);
}

// The shape of a shader whose matrices and array are sized by specialization constants, as GLSL's
// GL_KHR_cooperative_matrix writes it: the constants' defaults are 1.
Module sized_by_constants() {
  test::Words words = test::assemble(R"(
    OpCapability Shader
    OpCapability Linkage
    OpCapability Float16
    OpMemoryModel Logical GLSL450
    OpDecorate %4 SpecId 0
    OpDecorate %5 SpecId 1
    OpDecorate %6 SpecId 2
    %1 = OpTypeInt 32 0
    %2 = OpTypeFloat 16
    %3 = OpConstant %1 3
    %4 = OpSpecConstant %1 1
    %5 = OpSpecConstant %1 1
    %6 = OpSpecConstant %1 1
    %7 = OpSpecConstantOp %1 IMul %5 %6
    %8 = OpTypeArray %2 %7
    %9 = OpTypePointer Function %8
  )");
  words[3] = 100;
  const auto append = [&](const test::Words& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  const auto matrix = static_cast<spv::Op>(4456);
  append(test::instruction(matrix, {20, 2, 3, 4, 6, 3}));  // M x K
  append(test::instruction(matrix, {21, 2, 3, 6, 5, 3}));  // K x N
  append(test::instruction(matrix, {22, 2, 3, 4, 5, 3}));  // M x N
  append(test::instruction(spv::Op::OpUndef, {20, 30}));
  append(test::instruction(spv::Op::OpUndef, {21, 31}));
  append(test::instruction(spv::Op::OpUndef, {22, 32}));
  append(test::instruction(spv::Op::OpUndef, {9, 33}));
  return test::parsed(words);
}

TEST(cost, matrices_and_arrays_have_the_sizes_of_the_specialized_module) {
  const auto costs = [](const Module& module) {
    const auto product = static_cast<spv::Op>(4459);
    return std::pair(
        cost_of_words(
            module, test::instruction(product, {22, 50, 30, 31, 32}))[CostClass::MatrixMultiplyAdd],
        cost_of_words(module,
                      test::instruction(spv::Op::OpLoad, {8, 51, 33}))[CostClass::LocalLoad]);
  };
  const Module module = sized_by_constants();
  EXPECT_EQ(costs(module), std::pair(uint64_t{1}, uint64_t{1}));
  EXPECT_EQ(costs(module.specialized({{0, 4, 8}, {1, 4, 16}, {2, 4, 4}})),
            std::pair(uint64_t{8 * 16 * 4}, uint64_t{16 * 4}));
  EXPECT_TRUE(CostModel(module).types_depend_on_specialization());
  EXPECT_FALSE(
      CostModel(test::parsed(test::assemble(kCooperative))).types_depend_on_specialization());
}

TEST(cost, components_of_4_and_6_bits_are_packed_and_take_bytes) {
  test::Words words = test::assemble(kCooperative);
  const auto append = [&](spv::Op opcode, std::initializer_list<uint32_t> operands) {
    const test::Words more = test::instruction(opcode, operands);
    words.insert(words.end(), more.begin(), more.end());
  };
  words[3] = 100;
  append(spv::Op::OpTypeFloat, {20, 4});
  append(spv::Op::OpTypeFloat, {21, 6});
  append(spv::Op::OpTypeVector, {22, 20, 4});
  append(spv::Op::OpTypeVector, {23, 21, 3});
  append(spv::Op::OpTypeArray, {24, 20, 6});  // 32 of them
  const Module module = test::parsed(words);
  const TypeTable types(module);
  EXPECT_EQ(types.shape(20).bytes, 1u);
  EXPECT_EQ(types.shape(21).bytes, 1u);
  EXPECT_EQ(types.shape(22).bytes, 2u);
  EXPECT_EQ(types.shape(23).bytes, 3u);
  EXPECT_EQ(types.shape(24).bytes, 16u);
  EXPECT_EQ(types.shape(24).components, 32u);
}

TEST(cost, integer_dot_products_count_by_packed_component) {
  const Module module = test::parsed(test::assemble(R"(
    OpCapability Shader
    OpCapability Linkage
    OpCapability Int8
    OpMemoryModel Logical GLSL450
    %1 = OpTypeInt 32 0
    %2 = OpTypeInt 8 0
    %3 = OpTypeVector %2 4
    %4 = OpUndef %1
    %5 = OpUndef %3
    %6 = OpTypeVector %1 3
    %7 = OpUndef %6
  )"));
  EXPECT_EQ(
      cost_of_words(module, test::instruction(spv::Op::OpUDot, {1, 9, 4, 4, 0}))[CostClass::Int8],
      4u);
  EXPECT_EQ(
      cost_of_words(module, test::instruction(spv::Op::OpUDot, {1, 9, 5, 5}))[CostClass::Int8], 4u);
  EXPECT_EQ(
      cost_of_words(module, test::instruction(spv::Op::OpSDot, {1, 9, 7, 7}))[CostClass::Int32],
      3u);
}

TEST(cost, newer_instructions_are_known_by_number) {
  const Module module = test::parsed(test::assemble(kCooperative));
  const auto cost = [&](uint32_t number, CostClass expected) {
    const test::Words words = test::instruction(static_cast<spv::Op>(number),
                                                {1, 50, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3});
    return cost_of_words(module, words)[expected];
  };
  EXPECT_EQ(cost(5311, CostClass::RayTraversal), 1u);   // OpHitObjectTraceReorderExecuteEXT
  EXPECT_EQ(cost(5322, CostClass::RayAccess), 1u);      // OpHitObjectGetHitKindEXT
  EXPECT_EQ(cost(4480, CostClass::TextureSample), 1u);  // OpImageSampleWeightedQCOM
  EXPECT_EQ(cost(4160, CostClass::ImageLoad), 1u);      // OpColorAttachmentReadEXT
  EXPECT_EQ(cost(4419, CostClass::Address), 1u);        // OpUntypedAccessChainKHR
  EXPECT_EQ(cost(5111, CostClass::Subgroup), 1u);       // OpGroupNonUniformQuadAnyKHR
  EXPECT_EQ(cost(7777, CostClass::Other), 1u);
}

TEST(cost, sums_and_sizes_saturate) {
  InstructionMix mix;
  mix.add(CostClass::Fma, 0xfffffffe);
  InstructionMix more = mix;
  more += mix;
  EXPECT_EQ(more[CostClass::Fma], 0xffffffffu);
  more.add(CostClass::Move, ~uint64_t{0});
  EXPECT_EQ(more[CostClass::Move], 0xffffffffu);
  // Arrays of arrays of 2^32 - 1 elements.
  test::Words words = test::assemble(R"(
    OpCapability Shader
    OpCapability Linkage
    OpMemoryModel Logical GLSL450
    %1 = OpTypeInt 32 0
    %2 = OpConstant %1 4294967295
    %3 = OpTypeArray %1 %2
    %4 = OpTypeArray %3 %2
    %5 = OpTypeArray %4 %2
    %6 = OpTypePointer StorageBuffer %5
    %7 = OpUndef %6
  )");
  const Module module = test::parsed(words);
  const InstructionMix load = cost_of_words(module, test::instruction(spv::Op::OpLoad, {5, 9, 7}));
  EXPECT_EQ(load[CostClass::BufferBytesLoaded], 0xffffffffu);
}

TEST(cost, classes_and_block_counters_of_the_catalogue_match) {
  const std::vector<const catalogue::Counter*> counters =
      catalogue::counters_of(catalogue::Scope::Block);
  ASSERT_EQ(counters.size(), kCostClassCount + 3);
  EXPECT_EQ(counters[0]->number, catalogue::Number::Executions);
  EXPECT_EQ(counters[1]->number, catalogue::Number::Subgroups);
  EXPECT_EQ(counters[2]->number, catalogue::Number::SubgroupLanes);
  for (size_t index = 0; index < kCostClassCount; ++index) {
    const auto cost = static_cast<CostClass>(index);
    EXPECT_EQ(counters[index + 3]->number, counter_of(cost));
    EXPECT_EQ(cost_class_of(counter_of(cost)), cost);
  }
  EXPECT_EQ(cost_class_of(catalogue::Number::Executions), std::nullopt);
}

TEST(cost, instructions_of_real_modules_are_all_known) {
  for (const test::NamedModule& named : test::corpus()) {
    const Module module = test::parsed(named.words);
    const CostModel costs(module);
    for (const Function& function : module.functions()) {
      for (uint32_t index = function.begin; index < function.end; ++index) {
        const Instruction instruction = module.instruction(index);
        const bool is_clock = instruction.opcode() == spv::Op::OpReadClockKHR;
        EXPECT_EQ(costs.cost_of(instruction)[CostClass::Other], is_clock ? 1u : 0u)
            << named.name << " " << opcode_name(instruction.opcode());
      }
    }
  }
}

}  // namespace
}  // namespace tally::spirv
