// The block-count pass on a driver: shader results stay the same, and all counting methods agree
// with values computed by hand or on the host.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "barriers.comp.h"
#include "confetti.vert.h"
#include "demote.frag.h"
#include "demote16.frag.h"
#include "depth.frag.h"
#include "discard.frag.h"
#include "discard_rest.frag.h"
#include "divergent.comp.h"
#include "early_returns.comp.h"
#include "late_demote.frag.h"
#include "long_loops.comp.h"
#include "many_early_returns.comp.h"
#include "memory.frag.h"
#include "mixed.comp.h"
#include "return_in_loop.comp.h"
#include "spirv/ir/module.h"
#include "strides.comp.h"
#include "support/environment.h"
#include "support/gpu_run.h"
#include "support/spirv.h"
#include "terminate.frag.h"

namespace tally::test {
namespace {

using spirv::Counting;
using spirv::Placement;

// The driver decides how subgroups split and reconverge, but a block cannot be executed by an empty
// subgroup.
void expect_plausible_subgroups(const spirv::BlockCounts& counts) {
  ASSERT_EQ(counts.subgroups.size(), counts.executions.size());
  for (size_t block = 0; block < counts.executions.size(); ++block) {
    EXPECT_LE(counts.subgroups[block], counts.executions[block]) << "block " << block;
    EXPECT_GE(counts.subgroups[block] * 128, counts.executions[block]) << "block " << block;
  }
}

// All methods compute what the plain shader computes, and agree with the first about every block.
std::vector<StageCounts> expect_all_ways_agree(Context& context, const Program& program) {
  const Outcome plain = run_program(context, program);
  std::vector<StageCounts> expected;
  const DeviceAbilities abilities = abilities_of(context);
  for (const Way& way : all_ways(abilities, program.stages.back().stage)) {
    SCOPED_TRACE(to_string(way));
    const Outcome outcome = run_program(context, program, way);
    EXPECT_EQ(outcome.values, plain.values);
    EXPECT_EQ(outcome.picture, plain.picture);
    if (expected.empty()) expected = outcome.counts;
    for (size_t s = 0; s < expected.size(); ++s) {
      EXPECT_THAT(outcome.counts[s].findings, testing::IsEmpty());
      EXPECT_EQ(outcome.counts[s].blocks.executions, expected[s].blocks.executions);
    }
    const spirv::BlockCounts& counts = outcome.counts.back().blocks;
    if (counts.subgroups.empty() && abilities.hangs_on_discards) continue;
    if (way.count_subgroups) expect_plausible_subgroups(counts);
  }
  return expected;
}

TEST(BlockCountGpu, subgroups_that_end_in_any_order_are_counted) {
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, code_of(barriers_comp)}};
  program.values.assign(70 * 6, 0);
  program.groups[0] = 6;
  const auto counts = expect_all_ways_agree(context, program);
  EXPECT_EQ(counts[0].blocks.executions[0], 70u * 6);
}

TEST(BlockCountGpu, a_shader_with_every_kind_of_block_counts_the_same_in_all_ways) {
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, code_of(mixed_comp), {3, 5}}};
  program.values.assign(32 * 70, 0);
  program.push = {4, 0, 0, 0, 0, 0, 0, 0};
  program.groups[0] = 10;
  program.groups[1] = 7;
  const auto counts = expect_all_ways_agree(context, program);
  EXPECT_EQ(counts[0].blocks.executions[0], 32u * 70);
}

TEST(BlockCountGpu, lanes_that_return_from_a_loop_one_after_the_other_all_count) {
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, code_of(return_in_loop_comp)}};
  program.values.assign(32 * 32, 0);
  program.groups[0] = 32;
  const auto counts = expect_all_ways_agree(context, program);
  EXPECT_EQ(counts[0].blocks.executions[0], 32u * 32);
}

TEST(BlockCountGpu, loops_of_many_thousand_iterations_count_the_same_in_all_ways) {
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, code_of(long_loops_comp)}};
  program.values.assign(32, 0);
  const uint32_t executed = run_program(context, program).values[0];
  if (driver_name() == "lavapipe") {
    // llvmpipe 22.3 leaves a loop once an invocation has executed 65,535 iterations in all.
    EXPECT_EQ(executed, 65'535u + 1);
    const Outcome outcome = run_program(context, program, Way{});
    EXPECT_EQ(outcome.values[0], executed);
    EXPECT_THAT(outcome.counts[0].blocks.executions, testing::Contains(32u * 70'000));
    return;
  }
  EXPECT_EQ(executed, 70'040u);
  const auto counts = expect_all_ways_agree(context, program);
  EXPECT_THAT(counts[0].blocks.executions, testing::IsSupersetOf({32u * 70'000, 32u * 40}));
}

TEST(BlockCountGpu, loops_may_start_at_the_invocation_and_step_by_even_numbers) {
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, code_of(strides_comp)}};
  program.values.assign(32, 0);
  uint64_t down = 0, odd = 0;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = lane * 8; i > -16; i -= 6) ++down;
    for (int i = 1; i < 7 + lane; i += 2) ++odd;
  }
  const auto counts = expect_all_ways_agree(context, program);
  EXPECT_THAT(counts[0].blocks.executions,
              testing::IsSupersetOf({uint64_t{96}, uint64_t{100}, down, odd, uint64_t{32 * 8}}));
}

// for (i = 2, k = 9; i < 40 + id; i += 3, k -= 5) if (k & id) break; with i and k in OpPhis,
// whereas the oracle's programs keep their numbers in memory.
constexpr const char* kPhiLoop = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %index
OpExecutionMode %main LocalSize 32 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %runtime ArrayStride 4
OpDecorate %block BufferBlock
OpMemberDecorate %block 0 Offset 0
OpDecorate %values DescriptorSet 0
OpDecorate %values Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%runtime = OpTypeRuntimeArray %uint
%block = OpTypeStruct %runtime
%to_block = OpTypePointer Uniform %block
%to_value = OpTypePointer Uniform %uint
%to_input = OpTypePointer Input %uint
%values = OpVariable %to_block Uniform
%index = OpVariable %to_input Input
%c0 = OpConstant %uint 0
%c2 = OpConstant %uint 2
%c3 = OpConstant %uint 3
%c5 = OpConstant %uint 5
%c9 = OpConstant %uint 9
%c40 = OpConstant %uint 40
%main = OpFunction %void None %fn
%start = OpLabel
%id = OpLoad %uint %index
%end = OpIAdd %uint %id %c40
OpBranch %header
%header = OpLabel
%i = OpPhi %uint %c2 %start %i_next %next
%k = OpPhi %uint %k_next %next %c9 %start
%more = OpULessThan %bool %i %end
OpLoopMerge %after %next None
OpBranchConditional %more %body %after
%body = OpLabel
%common = OpBitwiseAnd %uint %k %id
%none = OpIEqual %bool %common %c0
OpBranchConditional %none %next %after
%next = OpLabel
%i_next = OpIAdd %uint %c3 %i
%k_next = OpISub %uint %k %c5
OpBranch %header
%after = OpLabel
%target = OpAccessChain %to_value %values %c0 %id
OpStore %target %i
OpReturn
OpFunctionEnd
)";

void expect_phi_loop_is_counted(std::vector<uint32_t> code) {
  Context context;
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, std::move(code)}};
  program.values.assign(32, 0);
  std::vector<uint64_t> expected(5);
  for (uint32_t id = 0; id < 32; ++id) {
    ++expected[0];
    ++expected[4];
    for (uint32_t i = 2, k = 9;; i += 3, k -= 5) {
      ++expected[1];
      if (i >= 40 + id) break;
      ++expected[2];
      if ((k & id) != 0) break;
      ++expected[3];
    }
  }
  EXPECT_EQ(expect_all_ways_agree(context, program)[0].blocks.executions, expected);
}

TEST(BlockCountGpu, loops_that_count_in_phis_count_the_same_in_all_ways) {
  expect_phi_loop_is_counted(assemble(kPhiLoop, SPV_ENV_VULKAN_1_1));
}

TEST(BlockCountGpu, modules_with_a_high_bound_of_ids_are_counted) {
  std::vector<uint32_t> code = assemble(kPhiLoop, SPV_ENV_VULKAN_1_1);
  code[3] = spirv::kBoundLimit - 10'000;
  expect_phi_loop_is_counted(code);
}

constexpr uint32_t kReturning = 1024;  // invocations

Program early_returns(std::vector<uint32_t> code) {
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, std::move(code)}};
  program.values.assign(kReturning, 0);
  program.groups[0] = kReturning / 32;
  return program;
}

// The invocations whose index modulo 128 is below `returns` each return at a different position.
void expect_early_returns_are_counted(Context& context, const Program& program, uint32_t returns) {
  std::vector<uint32_t> values(kReturning);
  for (uint32_t id = 0; id < kReturning; ++id) values[id] = id % 128 < returns ? 0 : id % 128 + 5;
  ASSERT_EQ(run_program(context, program).values, values);
  // A test and a return for each index, and the end.
  std::vector<uint64_t> expected;
  for (uint32_t x = 0; x < returns; ++x) {
    expected.push_back(kReturning / 128 * (128 - x));
    expected.push_back(kReturning / 128);
  }
  expected.push_back(kReturning / 128 * (128 - returns));
  EXPECT_EQ(expect_all_ways_agree(context, program)[0].blocks.executions, expected);
}

// The program computes `values`, and every way of counting refuses it.
void expect_is_too_deep(Context& context, const Program& program,
                        const std::vector<uint32_t>& values, uint32_t depth) {
  EXPECT_EQ(run_program(context, program).values, values);
  for (const Way& way : all_ways(abilities_of(context), VK_SHADER_STAGE_COMPUTE_BIT)) {
    try {
      run_program(context, program, way);
      ADD_FAILURE() << to_string(way) << " is not refused";
    } catch (const std::runtime_error& refusal) {
      EXPECT_THAT(refusal.what(), testing::HasSubstr(fmt::format("{} deep in each other", depth)));
    }
  }
}

// A 64-bit selector; two cases lead to one block, which another case falls through to; the default
// and a case lead to the merge block, where the other cases go as well.
constexpr const char* kSwitch = R"(
OpCapability Shader
OpCapability Int64
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %index
OpExecutionMode %main LocalSize 32 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%to_input = OpTypePointer Input %uint
%index = OpVariable %to_input Input
%high = OpConstant %ulong 4294967296
%main = OpFunction %void None %fn
%start = OpLabel
%id = OpLoad %uint %index
%low = OpUConvert %ulong %id
%selector = OpBitwiseOr %ulong %low %high
OpSelectionMerge %after None
OpSwitch %selector %after 4294967301 %once 4294967302 %more 4294967303 %more 9 %more 4294967304 %after
%once = OpLabel
OpBranch %more
%more = OpLabel
OpBranch %after
%after = OpLabel
OpReturn
OpFunctionEnd
)";

TEST(BlockCountGpu, every_target_of_a_switch_is_counted_in_all_ways) {
  Context context;
  const DeviceAbilities abilities = abilities_of(context);
  if (!abilities.int64) GTEST_SKIP() << "the device has no 64-bit integers";
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, assemble(kSwitch, SPV_ENV_UNIVERSAL_1_3)}};
  program.groups[0] = 3;
  for (Way way : all_ways(abilities, VK_SHADER_STAGE_COMPUTE_BIT)) {
    way.count_branches = true;
    SCOPED_TRACE(to_string(way));
    const Outcome outcome = run_program(context, program, way);
    EXPECT_THAT(outcome.counts[0].findings, testing::IsEmpty());
    EXPECT_EQ(outcome.counts[0].blocks.executions, (std::vector<uint64_t>{96, 3, 9, 96}));
    std::vector<uint64_t> taken;
    for (const auto& target : outcome.counts[0].blocks.branches) {
      EXPECT_EQ(target.block, 0u);
      EXPECT_EQ(target.target, taken.size());
      taken.push_back(target.times);
    }
    EXPECT_EQ(taken,
              (std::vector<uint64_t>{87, 3, 6}));  // default and case 8, case 5, cases 6 and 7
  }
}

// The drivers of the tests keep the lanes of a structured construct together, and join them behind
// it.
TEST(BlockCountGpu, each_subgroup_counts_once_for_each_execution_with_an_active_lane) {
  Context context;
  const DeviceAbilities abilities = abilities_of(context);
  if (!(abilities.subgroup_stages & VK_SHADER_STAGE_COMPUTE_BIT)) {
    GTEST_SKIP() << "compute shaders have no subgroup operations";
  }
  constexpr uint64_t kGroups = 3;
  const uint64_t size = context.subgroup_size();
  const uint64_t all = kGroups * 64 / size;  // subgroups
  const uint64_t even = kGroups * ((64 / size + 1) / 2);
  const uint64_t trips = size * (size + 1) / 2;  // of all lanes of a subgroup
  Program program;
  program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, code_of(divergent_comp)}};
  program.values.assign(kGroups * 64, 1);
  program.groups[0] = kGroups;
  for (const Counting counting : {Counting::Private, Counting::Subgroup}) {
    for (const Placement placement : {Placement::Every, Placement::Minimal}) {
      for (const bool branches : {false, true}) {
        const Way way = {.placement = placement,
                         .counting = counting,
                         .count_subgroups = true,
                         .count_branches = branches};
        SCOPED_TRACE(to_string(way));
        const auto counts = run_program(context, program, way).counts[0].blocks;
        // In the order of the source; the loop is a header, a test, its body and what follows.
        EXPECT_EQ(
            counts.executions,
            (std::vector<uint64_t>{all * size, all, all * size, all * size / 2, all * size,
                                   even * size, all * size, all * (trips + size),
                                   all * (trips + size), all * trips, all * trips, all * size}));
        EXPECT_EQ(counts.subgroups,
                  (std::vector<uint64_t>{all, all, all, all, all, even, all, all * (size + 1),
                                         all * (size + 1), all * size, all * size, all}));
      }
    }
  }
}

TEST(BlockCountGpu, sixty_early_returns_compute_and_count_the_same_in_all_ways) {
  Context context;
  expect_early_returns_are_counted(context, early_returns(code_of(early_returns_comp)), 60);
}

// llvmpipe computes wrong results with more than 80 nested conditionals. It merges these into one
// piece of code unless they count, so such a shader is not instrumented there.
TEST(BlockCountGpu, a_hundred_early_returns_are_counted_or_left_alone) {
  Context context;
  const Program program = early_returns(code_of(many_early_returns_comp));
  if (abilities_of(context).max_nested_conditionals == 0) {
    return expect_early_returns_are_counted(context, program, 100);
  }
  std::vector<uint32_t> values(kReturning);
  for (uint32_t id = 0; id < kReturning; ++id) values[id] = id % 128 < 100 ? 0 : id % 128 + 5;
  expect_is_too_deep(context, program, values, 100);
}

// uint f(uint x) { switch (x) { case 0: return x + 1000; case 1: return x + 2000; ... } return 7; }
// for the index modulo 128, in each of two iterations of a loop that adds the results up.
std::string switch_of_returns(uint32_t cases) {
  std::string constants, targets, bodies;
  for (uint32_t i = 0; i < cases; ++i) {
    constants += fmt::format("%k{} = OpConstant %uint {}\n", i, 1000 * (i + 1));
    targets += fmt::format(" {} %case{}", i, i);
    bodies +=
        fmt::format("%case{0} = OpLabel\n%r{0} = OpIAdd %uint %x %k{0}\nOpReturnValue %r{0}\n", i);
  }
  return fmt::format(R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %index
OpExecutionMode %main LocalSize 32 1 1
OpDecorate %index BuiltIn GlobalInvocationId
OpDecorate %runtime ArrayStride 4
OpDecorate %block BufferBlock
OpMemberDecorate %block 0 Offset 0
OpDecorate %values DescriptorSet 0
OpDecorate %values Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%f_type = OpTypeFunction %uint %uint
%runtime = OpTypeRuntimeArray %uint
%block = OpTypeStruct %runtime
%to_block = OpTypePointer Uniform %block
%to_value = OpTypePointer Uniform %uint
%to_input = OpTypePointer Input %uint3
%values = OpVariable %to_block Uniform
%index = OpVariable %to_input Input
%c0 = OpConstant %uint 0
%c1 = OpConstant %uint 1
%c2 = OpConstant %uint 2
%c7 = OpConstant %uint 7
%c128 = OpConstant %uint 128
{}
%main = OpFunction %void None %fn
%start = OpLabel
%indices = OpLoad %uint3 %index
%id = OpCompositeExtract %uint %indices 0
%x0 = OpUMod %uint %id %c128
OpBranch %header
%header = OpLabel
%i = OpPhi %uint %c0 %start %i_next %next
%sum = OpPhi %uint %c0 %start %sum_next %next
%more = OpULessThan %bool %i %c2
OpLoopMerge %after %next None
OpBranchConditional %more %body %after
%body = OpLabel
%one = OpFunctionCall %uint %f %x0
%sum_next = OpIAdd %uint %sum %one
OpBranch %next
%next = OpLabel
%i_next = OpIAdd %uint %i %c1
OpBranch %header
%after = OpLabel
%target = OpAccessChain %to_value %values %c0 %id
OpStore %target %sum
OpReturn
OpFunctionEnd
%f = OpFunction %uint None %f_type
%x = OpFunctionParameter %uint
%f_start = OpLabel
OpSelectionMerge %behind None
OpSwitch %x %behind{}
{}%behind = OpLabel
OpReturnValue %c7
OpFunctionEnd
)",
                     constants, targets, bodies);
}

// Compilers nest the cases of a switch that return, like other early returns: each stands in the
// else branch of the one before.
TEST(BlockCountGpu, cases_that_return_are_counted_or_left_alone) {
  Context context;
  const uint32_t limit = abilities_of(context).max_nested_conditionals;
  for (const uint32_t cases : {71u, 72u, 81u}) {
    SCOPED_TRACE(cases);
    const Program program = early_returns(assemble(switch_of_returns(cases), SPV_ENV_VULKAN_1_1));
    std::vector<uint32_t> values(kReturning);
    for (uint32_t id = 0; id < kReturning; ++id) {
      const uint32_t x = id % 128;
      values[id] = 2 * (x < cases ? x + 1000 * (x + 1) : 7);
    }
    // It stands in a loop, which is one more.
    if (limit != 0 && cases + 1 > limit - 8) {
      expect_is_too_deep(context, program, values, cases + 1);
      continue;
    }
    ASSERT_EQ(run_program(context, program).values, values);
    constexpr uint64_t kEach = kReturning / 128;
    std::vector<uint64_t> expected = {kReturning,     3 * kReturning, 2 * kReturning,
                                      2 * kReturning, kReturning,     2 * kReturning};
    expected.insert(expected.end(), cases, 2 * kEach);
    expected.push_back(2 * kEach * (128 - cases));
    EXPECT_EQ(expect_all_ways_agree(context, program)[0].blocks.executions, expected);
  }
}

// 600 small overlapping triangles on a target with a depth buffer.
Program confetti(std::vector<uint32_t> fragment) {
  Program program;
  program.stages = {{VK_SHADER_STAGE_VERTEX_BIT, code_of(confetti_vert)},
                    {VK_SHADER_STAGE_FRAGMENT_BIT, std::move(fragment)}};
  program.values = {0};
  program.draws = {{.vertices = 1800}};
  program.target = {.extent = {96, 80}, .depth_format = VK_FORMAT_D32_SFLOAT};
  program.pipeline.depth_test = true;
  program.pipeline.depth_write = true;
  return program;
}

void expect_fragments_agree(std::vector<uint32_t> fragment, std::vector<uint32_t> push = {1, 0}) {
  Context context;
  Program program = confetti(std::move(fragment));
  program.push = std::move(push);
  const auto counts = expect_all_ways_agree(context, program);
  EXPECT_EQ(counts[0].blocks.executions[0], 1800u);
  EXPECT_GT(counts[1].blocks.executions[0], 1000u);
}

// Drivers may run a vertex shader more than once per vertex, and report that in their statistics.
TEST(BlockCountGpu, vertex_invocations_are_those_of_the_statistics) {
  Context context;
  for (const uint32_t vertices : {3u, 60u, 1800u}) {
    Program program = confetti(code_of(memory_frag));
    program.draws = {{.vertices = vertices}};
    for (const Way& way : all_ways(abilities_of(context), VK_SHADER_STAGE_VERTEX_BIT)) {
      SCOPED_TRACE(to_string(way));
      const Outcome outcome = run_program(context, program, way);
      const uint64_t expected =
          outcome.statistics ? outcome.statistics->vertex_invocations : vertices;
      EXPECT_EQ(outcome.counts[0].blocks.executions[0], expected);
    }
  }
}

TEST(BlockCountGpu, killed_fragments_are_counted) { expect_fragments_agree(code_of(discard_frag)); }

TEST(BlockCountGpu, fragments_are_counted_behind_a_loop_that_kills_some) {
  expect_fragments_agree(code_of(discard_rest_frag), {3, 0});
}

TEST(BlockCountGpu, fragments_are_counted_that_end_together_behind_a_loop_that_kills_some) {
  expect_fragments_agree(code_of(discard_rest_frag), {3, 1});
}

TEST(BlockCountGpu, demoted_fragments_count_until_they_are_helpers) {
  expect_fragments_agree(code_of(demote_frag));
}

// counting.h
TEST(BlockCountGpu, fragments_whose_demotion_waits_count_as_if_it_did_not) {
  expect_fragments_agree(code_of(late_demote_frag));
}

// SPIR-V 1.6: discard is a demotion, and the HelperInvocation built-in changes with it.
TEST(BlockCountGpu, demoted_fragments_of_newer_modules_count_until_they_are_helpers) {
  expect_fragments_agree(code_of(demote16_frag));
}

TEST(BlockCountGpu, terminated_fragments_are_counted) {
  expect_fragments_agree(code_of(terminate_frag));
}

TEST(BlockCountGpu, fragments_that_write_depth_are_counted) {
  expect_fragments_agree(code_of(depth_frag));
}

TEST(BlockCountGpu, fragments_that_write_memory_are_counted) {
  expect_fragments_agree(code_of(memory_frag));
}

}  // namespace
}  // namespace tally::test
