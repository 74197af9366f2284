#include "spirv/analysis/redundancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "spirv/analysis/cost.h"
#include "spirv/analysis/loop_bounds.h"
#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kDeclarations = R"(
  OpCapability Shader
  %glsl = OpExtInstImport "GLSL.std.450"
  OpMemoryModel Logical GLSL450
  OpEntryPoint Fragment %main "main" %in %out %buffer
  OpExecutionMode %main OriginUpperLeft
  OpDecorate %in Location 0
  OpDecorate %out Location 0
  OpDecorate %block Block
  OpMemberDecorate %block 0 Offset 0
  OpDecorate %buffer DescriptorSet 0
  OpDecorate %buffer Binding 0
  %void = OpTypeVoid
  %bool = OpTypeBool
  %f32 = OpTypeFloat 32
  %i32 = OpTypeInt 32 1
  %v2 = OpTypeVector %f32 2
  %block = OpTypeStruct %f32
  %in_f32 = OpTypePointer Input %f32
  %out_f32 = OpTypePointer Output %f32
  %local_f32 = OpTypePointer Function %f32
  %local_v2 = OpTypePointer Function %v2
  %buffer_block = OpTypePointer StorageBuffer %block
  %buffer_f32 = OpTypePointer StorageBuffer %f32
  %in = OpVariable %in_f32 Input
  %out = OpVariable %out_f32 Output
  %buffer = OpVariable %buffer_block StorageBuffer
  %two = OpConstant %f32 2
  %zero = OpConstant %i32 0
  %one = OpConstant %i32 1
  %function = OpTypeFunction %void
)";

// The numeric ids from 100 on that the body of main defines and that are redundant, ascending.
std::vector<uint32_t> redundant_ids(std::string_view body, bool of_gpu = false,
                                    bool begins_main = true) {
  constexpr std::string_view kBegin = "%main = OpFunction %void None %function\n%first = OpLabel\n";
  const auto words = test::assemble(fmt::format("{}{}{}\nOpReturn\nOpFunctionEnd", kDeclarations,
                                                begins_main ? kBegin : std::string_view(), body));
  EXPECT_EQ(test::validate(words), "");
  const Module module = test::parsed(words);
  const auto functions = module.reachable_functions(module.entry_points().front().function_id);
  const GpuCompiler gpu = gpu_compiler(module, spv::ExecutionModel::Fragment, "main");
  const std::vector<Residue> residues =
      residues_of_instructions(module, functions, of_gpu ? &gpu : nullptr);
  std::vector<uint32_t> ids;
  for (uint32_t id = 100; id < 200; ++id) {
    const uint32_t index = module.definition_index(id);
    if (index != kNone && residues[index] == Residue::Nothing) ids.push_back(id);
  }
  return ids;
}

TEST(Redundancy, what_is_computed_twice_in_a_block_counts_once) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpLoad %f32 %in
    %101 = OpFMul %f32 %100 %100
    %102 = OpLoad %f32 %in
    %103 = OpFMul %f32 %102 %100
    %104 = OpFAdd %f32 %101 %103
    OpStore %out %104)"),
              ElementsAre(102, 103));
}

TEST(Redundancy, another_block_computes_for_itself) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpLoad %f32 %in
    %101 = OpFMul %f32 %100 %100
    OpStore %out %101
    OpBranch %second
    %second = OpLabel
    %102 = OpFMul %f32 %100 %100
    OpStore %out %102)"),
              IsEmpty());
}

TEST(Redundancy, a_store_separates_the_loads_of_a_buffer_and_not_those_of_an_input) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpAccessChain %buffer_f32 %buffer %zero
    %101 = OpLoad %f32 %100
    %102 = OpLoad %f32 %in
    OpStore %out %101
    %103 = OpLoad %f32 %100
    %104 = OpLoad %f32 %in
    %105 = OpFAdd %f32 %103 %104
    %106 = OpFAdd %f32 %105 %102
    OpStore %out %106)"),
              ElementsAre(104));
}

TEST(Redundancy, a_volatile_load_is_never_redundant) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpAccessChain %buffer_f32 %buffer %zero
    %101 = OpLoad %f32 %100 Volatile
    %102 = OpLoad %f32 %100 Volatile)"),
              IsEmpty());
}

TEST(Redundancy, a_load_after_a_store_is_the_stored_value) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpVariable %local_f32 Function
    %101 = OpLoad %f32 %in
    %102 = OpFMul %f32 %101 %two
    OpStore %100 %102
    %103 = OpLoad %f32 %100
    %104 = OpFMul %f32 %101 %two
    %105 = OpFSub %f32 %103 %104
    OpStore %out %105)"),
              ElementsAre(103, 104));
}

TEST(Redundancy, a_store_to_a_part_changes_the_whole_variable) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpVariable %local_v2 Function
    %101 = OpAccessChain %local_f32 %100 %zero
    %102 = OpLoad %v2 %100
    %103 = OpLoad %f32 %in
    OpStore %101 %103
    %104 = OpLoad %v2 %100
    %105 = OpDot %f32 %102 %104
    OpStore %out %105)"),
              IsEmpty());
}

TEST(Redundancy, a_variable_that_is_never_read_and_what_it_was_computed_for_are_left_out) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpVariable %local_f32 Function
    %101 = OpLoad %f32 %in
    %102 = OpExtInst %f32 %glsl Sin %101
    OpStore %100 %102)"),
              ElementsAre(101, 102));
}

TEST(Redundancy, a_variable_that_is_read_in_another_block_keeps_its_stores) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpVariable %local_v2 Function
    %101 = OpLoad %f32 %in
    %102 = OpExtInst %f32 %glsl Sin %101
    %103 = OpAccessChain %local_f32 %100 %one
    OpStore %103 %102
    OpBranch %second
    %second = OpLabel
    %104 = OpAccessChain %local_f32 %100 %one
    %105 = OpLoad %f32 %104
    OpStore %out %105)"),
              IsEmpty());
}

TEST(Redundancy, the_values_that_a_phi_merges_are_used) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpLoad %f32 %in
    %101 = OpExtInst %f32 %glsl Sin %100
    %102 = OpFOrdGreaterThan %bool %100 %two
    OpSelectionMerge %end None
    OpBranchConditional %102 %then %end
    %then = OpLabel
    %103 = OpFMul %f32 %101 %100
    OpBranch %end
    %end = OpLabel
    %104 = OpPhi %f32 %101 %first %103 %then
    OpStore %out %104)"),
              IsEmpty());
}

TEST(Redundancy, a_composite_that_is_taken_apart_again_costs_nothing) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpLoad %f32 %in
    %101 = OpFAdd %f32 %100 %two
    %102 = OpCompositeConstruct %v2 %100 %101
    %103 = OpVectorShuffle %v2 %102 %102 1 0
    %104 = OpCompositeExtract %f32 %103 0
    %105 = OpFAdd %f32 %100 %two
    %106 = OpFMul %f32 %104 %105
    OpStore %out %106)"),
              ElementsAre(102, 103, 104, 105));
}

TEST(Redundancy, what_is_computed_of_constants_costs_nothing) {
  EXPECT_THAT(redundant_ids(R"(
    %100 = OpFMul %f32 %two %two
    %101 = OpExtInst %f32 %glsl Sqrt %100
    %102 = OpLoad %f32 %in
    %103 = OpFMul %f32 %101 %102
    OpStore %out %103)"),
              ElementsAre(100, 101));
}

TEST(Redundancy, a_division_by_a_constant_is_a_multiplication) {
  const auto words = test::assemble(fmt::format(R"({}
    %main = OpFunction %void None %function
    %first = OpLabel
    %100 = OpLoad %f32 %in
    %101 = OpCompositeConstruct %v2 %two %two
    %102 = OpCompositeConstruct %v2 %100 %100
    %103 = OpFDiv %v2 %102 %101
    %104 = OpFDiv %v2 %101 %102
    %105 = OpDot %f32 %103 %104
    OpStore %out %105
    OpReturn
    OpFunctionEnd)",
                                                kDeclarations));
  const Module module = test::parsed(words);
  const auto functions = module.reachable_functions(module.entry_points().front().function_id);
  const std::vector<Residue> residues = residues_of_instructions(module, functions);
  const auto compiled = [&](uint32_t id) {
    InstructionMix mix;
    CostModel(module).add_compiled(*module.definition(id), residues[module.definition_index(id)],
                                   mix);
    return mix;
  };
  EXPECT_EQ(compiled(103)[CostClass::Division], 0u);
  EXPECT_EQ(compiled(103)[CostClass::Float32], 2u);
  EXPECT_EQ(compiled(104)[CostClass::Division], 2u);
  EXPECT_EQ(CostModel(module).cost_of(*module.definition(103))[CostClass::Division], 2u);
}

// Whatever the modules of the corpus do, what writes memory outside of functions is kept.
TEST(Redundancy, stores_that_others_see_are_kept_in_every_module) {
  size_t stores = 0;
  for (const test::NamedModule& named : test::corpus()) {
    const Module module = test::parsed(named.words);
    if (module.entry_points().empty()) continue;
    const EntryPoint& entry = module.entry_points().front();
    const auto functions = module.reachable_functions(entry.function_id);
    const GpuCompiler gpu = gpu_compiler(module, entry.model, entry.name);
    for (const GpuCompiler* const compiler : {static_cast<const GpuCompiler*>(nullptr), &gpu}) {
      const auto residues = residues_of_instructions(module, functions, compiler);
      for (uint32_t i = 0; i < module.instruction_count(); ++i) {
        const Instruction instruction = module.instruction(i);
        if (instruction.opcode() != spv::Op::OpStore) continue;
        const auto type = module.definition(module.type_of(instruction.operand(0)));
        const auto storage = static_cast<spv::StorageClass>(type->operand(0));
        if (storage == spv::StorageClass::Function) continue;
        ++stores;
        EXPECT_EQ(residues[i], Residue::All) << named.name << " " << i;
      }
    }
  }
  EXPECT_GT(stores, 20u);
}

TEST(Redundancy, a_gpu_fuses_a_product_with_the_sum_that_alone_uses_it) {
  constexpr std::string_view kBody = R"(
    %100 = OpLoad %f32 %in
    %101 = OpFMul %f32 %100 %100
    %102 = OpFAdd %f32 %101 %100
    %103 = OpFMul %f32 %102 %102
    %104 = OpFSub %f32 %103 %100
    %105 = OpFAdd %f32 %103 %104
    OpStore %out %105)";
  EXPECT_THAT(redundant_ids(kBody), IsEmpty());
  EXPECT_THAT(redundant_ids(kBody, true), ElementsAre(101));
}

TEST(Redundancy, a_gpu_knows_the_counter_of_a_short_loop) {
  // for (int i = 0; i < TRIPS; ++i) out = in * float(i + 1);
  const auto ids = [](int trips) {
    return redundant_ids(fmt::format(R"(
    %trips = OpConstant %i32 {}
    %main = OpFunction %void None %function
    %first = OpLabel
    OpBranch %loop
    %loop = OpLabel
    %i = OpPhi %i32 %zero %first %103 %continue
    OpLoopMerge %end %continue None
    OpBranch %test
    %test = OpLabel
    %100 = OpSLessThan %bool %i %trips
    OpBranchConditional %100 %body %end
    %body = OpLabel
    %101 = OpIAdd %i32 %i %one
    %102 = OpConvertSToF %f32 %101
    %104 = OpLoad %f32 %in
    %105 = OpFMul %f32 %104 %102
    OpStore %out %105
    OpBranch %continue
    %continue = OpLabel
    %103 = OpIAdd %i32 %i %one
    OpBranch %loop
    %end = OpLabel)",
                                     trips),
                         true, false);
  };
  EXPECT_THAT(ids(4), ElementsAre(100, 101, 102, 103));
  EXPECT_THAT(ids(400), IsEmpty());
}

}  // namespace
}  // namespace tally::spirv
