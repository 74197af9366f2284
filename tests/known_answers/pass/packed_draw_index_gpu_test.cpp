// Draws distinguished by the high half of their instance index: each writes the same counts to its
// own record as it does alone, and the application does not notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base_instance.vert.h"
#include "instances.frag.h"
#include "instances.vert.h"
#include "support/gpu_run.h"

namespace tally::test {
namespace {

using spirv::Counting;
using spirv::Placement;

const std::vector<Draw> kDraws = {{.vertices = 3, .instances = 1},
                                  {.vertices = 3, .instances = 1},
                                  {.vertices = 21, .instances = 9},
                                  {.vertices = 6, .instances = 2, .first_instance = 7},
                                  {.vertices = 3, .instances = 40, .first_instance = 300},
                                  {.vertices = 3, .instances = 1},
                                  {.vertices = 0, .instances = 1, .first_instance = 3},
                                  {.vertices = 9, .instances = 6, .first_instance = 65530},
                                  {.vertices = 3, .instances = 1, .first_instance = 5}};

Program vertices_only(const std::vector<Draw>& draws) {
  Program program;
  program.stages = {{VK_SHADER_STAGE_VERTEX_BIT, code_of(instances_vert)}};
  program.values.assign(80000, 0);
  program.draws = draws;
  return program;
}

Program triangles(const std::vector<Draw>& draws) {
  Program program = vertices_only(draws);
  program.stages.push_back({VK_SHADER_STAGE_FRAGMENT_BIT, code_of(instances_frag)});
  program.target.extent = {61, 45};
  return program;
}

// The methods of a program's last stage that find records in this way: each kind of counting with
// both kinds of address.
std::vector<Way> ways_with(Context& context, const Program& program, Numbers numbers) {
  std::vector<Way> ways = all_ways(abilities_of(context), program.stages.back().stage);
  ways.push_back({.placement = Placement::Every, .counting = Counting::Lane, .shards_log2 = 5});
  ways.push_back({.placement = Placement::Minimal, .shards_log2 = 6, .uniform_buffer = true});
  for (Way& way : ways) way.numbers = numbers;
  return ways;
}

std::vector<std::vector<StageCounts>> counts_alone(Context& context, const Program& program) {
  std::vector<std::vector<StageCounts>> counts;
  for (const Draw& draw : program.draws) {
    Program alone = program;
    alone.draws = {draw};
    counts.push_back(run_program(context, alone, Way{}).counts);
  }
  return counts;
}

void expect_equal(const std::vector<StageCounts>& counts,
                  const std::vector<StageCounts>& expected) {
  ASSERT_EQ(counts.size(), expected.size());
  for (size_t s = 0; s < counts.size(); ++s) {
    EXPECT_THAT(counts[s].findings, testing::IsEmpty());
    EXPECT_EQ(counts[s].blocks.executions, expected[s].blocks.executions) << "stage " << s;
  }
}

// Draws of different kinds follow each other closely. This detects drivers that put invocations of
// two draws into one subgroup.
constexpr size_t kRounds = 6;

void expect_records_of_their_own(Program program) {
  Context context;
  const auto expected = counts_alone(context, program);
  for (size_t round = 1; round < kRounds; ++round) {
    program.draws.insert(program.draws.end(), kDraws.begin(), kDraws.end());
  }
  const Outcome plain = run_program(context, program);
  for (const auto& draw : expected) {
    const bool has_vertices = &draw != &expected[6];
    EXPECT_EQ(draw.front().blocks.executions.front() > 0, has_vertices);
    EXPECT_EQ(draw.back().blocks.executions.front() > 0, has_vertices);
  }
  const bool has_picture = program.stages.back().stage == VK_SHADER_STAGE_FRAGMENT_BIT;
  for (const Way& way : ways_with(context, program, Numbers::Used)) {
    SCOPED_TRACE(to_string(way));
    const Outcome outcome = run_program(context, program, way);
    EXPECT_EQ(outcome.values, plain.values);
    if (has_picture) {
      EXPECT_EQ(outcome.picture, plain.picture);
    }
    ASSERT_EQ(outcome.counts_by_draw.size(), kRounds * expected.size());
    for (size_t i = 0; i < outcome.counts_by_draw.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "draw " << i);
      expect_equal(outcome.counts_by_draw[i], expected[i % expected.size()]);
    }
  }
}

TEST(PackedDrawIndexGpu, each_draw_counts_into_its_own_record) {
  expect_records_of_their_own(triangles(kDraws));
}

TEST(PackedDrawIndexGpu, each_draw_without_fragments_counts_into_its_own_record) {
  expect_records_of_their_own(vertices_only(kDraws));
}

TEST(PackedDrawIndexGpu, without_numbers_an_instance_index_of_any_size_reaches_the_application) {
  Context context;
  const Program program =
      triangles({{.vertices = 12, .instances = 3, .first_instance = 70000},
                 {.vertices = 3, .instances = 9, .first_instance = 65530},
                 {.vertices = 3, .instances = 1, .first_instance = (7 << 16) + 7}});
  const Outcome plain = run_program(context, program);
  EXPECT_NE(plain.values[70002], 0u);
  EXPECT_NE(plain.values[65538], 0u);
  EXPECT_NE(plain.values.back(), 0u);
  const auto expected = run_program(context, program, Way{}).counts;
  for (const Way& way : ways_with(context, program, Numbers::Unused)) {
    SCOPED_TRACE(to_string(way));
    const Outcome outcome = run_program(context, program, way);
    EXPECT_EQ(outcome.values, plain.values);
    EXPECT_EQ(outcome.picture, plain.picture);
    expect_equal(outcome.counts, expected);
  }
}

bool has_draw_parameters(const Context& context) {
  VkPhysicalDeviceVulkan11Features features = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceFeatures2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features};
  vkGetPhysicalDeviceFeatures2(context.gpu(), &all);
  return features.shaderDrawParameters;
}

TEST(PackedDrawIndexGpu, the_base_instance_is_that_of_the_application) {
  Context context;
  if (!has_draw_parameters(context)) GTEST_SKIP() << "no shaderDrawParameters";
  Program program = vertices_only({{.vertices = 2, .instances = 4, .first_instance = 10},
                                   {.vertices = 3, .instances = 5, .first_instance = 20}});
  program.stages[0].code = code_of(base_instance_vert);
  program.pipeline.topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
  std::vector<uint32_t> expected(program.values.size());
  for (uint32_t i = 10; i < 14; ++i) expected[i] = 2 * 11;
  for (uint32_t i = 20; i < 25; ++i) expected[i] = 3 * 21;
  for (const Numbers numbers : {Numbers::Used, Numbers::Unused}) {
    for (const Way& way : ways_with(context, program, numbers)) {
      SCOPED_TRACE(to_string(way));
      EXPECT_EQ(run_program(context, program, way).values, expected);
    }
  }
}

}  // namespace
}  // namespace tally::test
