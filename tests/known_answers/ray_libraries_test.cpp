// Counts of ray-tracing pipelines that are linked from libraries.
#include "known_answers/ray_answers.h"

namespace tally::test {
namespace {

// The stages of kAllStages in libraries: [general shaders], [triangles], [boxes].
class RayLibraries : public RayAnswers {
 protected:
  Pipeline make_library(std::span<const uint32_t> stages, std::vector<RayGroup> groups,
                        bool instrumented = true) {
    RayPipelineInfo info{.groups = std::move(groups),
                         .layout = layout_,
                         .flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR,
                         .instrumented = instrumented,
                         .interface = true};
    for (const uint32_t stage : stages) info.stages.push_back(kAllStages[stage]);
    return make_ray_pipeline(*context_, info);
  }
  Pipeline make_triangles(bool instrumented = true) {
    constexpr uint32_t kOwn[] = {kSurface, kLeaf};
    return make_library(kOwn, {{.closest_hit = 0}, {.closest_hit = 0, .any_hit = 1}}, instrumented);
  }
  Pipeline make_boxes() {
    constexpr uint32_t kOwn[] = {kBoxHit, kBoxIntersection, kBoxAnyHit};
    return make_library(kOwn, {{.closest_hit = 0, .any_hit = 2, .intersection = 1}});
  }
  Pipeline make_callables() {
    constexpr uint32_t kOwn[] = {kEven, kOdd};
    return make_library(kOwn, {{.general = 0}, {.general = 1}});
  }
  // Ray generation and miss shaders, linked with libraries.
  Pipeline link(std::vector<VkPipeline> libraries) {
    return make_ray_pipeline(*context_, {.stages = {kAllStages.begin(), kAllStages.begin() + 3},
                                         .groups = {kAllGroups.begin(), kAllGroups.begin() + 3},
                                         .layout = layout_,
                                         .libraries = std::move(libraries),
                                         .interface = true});
  }
};

TEST_F(RayLibraries, stages_of_libraries_are_counted_after_the_pipelines_own) {
  start();
  const Pipeline triangles = make_triangles();
  const Pipeline boxes = make_boxes();
  const Pipeline callables = make_callables();
  const Pipeline pipeline = link({triangles, boxes, callables});
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

// VK_EXT_pipeline_library_group_handles: tables may hold the handles of libraries.
TEST_F(RayLibraries, group_handles_are_those_of_the_libraries) {
  if (!Context().has_extension(VK_EXT_PIPELINE_LIBRARY_GROUP_HANDLES_EXTENSION_NAME))
    GTEST_SKIP() << "no handles of libraries";
  start([](RayTracingDevice& rays) { rays.enable_library_handles(); });
  const Pipeline triangles = make_triangles();
  const Pipeline boxes = make_boxes();
  const Pipeline callables = make_callables();
  std::vector<std::byte> expected;
  for (const auto& [library, groups] :
       {std::pair(&triangles, 2u), std::pair(&boxes, 1u), std::pair(&callables, 2u)}) {
    const auto handles = group_handles(*context_, *library, groups);
    expected.insert(expected.end(), handles.begin(), handles.end());
  }
  for (int i = 0; i < 2; ++i) {
    const Pipeline pipeline = link({triangles, boxes, callables});
    auto handles = group_handles(*context_, pipeline, 8);
    handles.erase(handles.begin(),
                  handles.begin() + static_cast<std::ptrdiff_t>(handles.size() * 3 / 8));
    EXPECT_EQ(handles, expected);
    instrumentation_.emplace(*context_);
    measure(pipeline);
    EXPECT_EQ(take_image(), expected_image());
    expect_known_answers();
  }
}

TEST_F(RayLibraries, libraries_may_be_linked_more_than_once_and_replaced) {
  start();
  const Pipeline callables = make_callables();
  const Pipeline boxes = make_boxes();
  Pipeline triangles = make_triangles();
  const Pipeline first = link({triangles, boxes, callables});
  const Pipeline second = link({triangles, boxes, callables});
  // The tables are made early: validation layer 1.3.239 looks for the libraries when it is asked
  // for handles.
  const BindingTable tables[] = {table_of(first), table_of(second)};
  // A new library may take the place of one that was destroyed.
  triangles.reset();
  triangles = make_triangles();
  const Pipeline third = link({triangles, boxes, callables});
  const BindingTable third_table = table_of(third);
  triangles.reset();
  const std::pair<VkPipeline, const BindingTable*> all[] = {
      {first, &tables[0]}, {second, &tables[1]}, {third, &third_table}};
  for (const auto& [pipeline, table] : all) {
    instrumentation_.emplace(*context_);
    measure(pipeline, *table);
    EXPECT_EQ(take_image(), expected_image());
    expect_known_answers();
  }
}

TEST_F(RayLibraries, a_library_may_be_made_of_libraries) {
  start();
  Pipeline triangles = make_triangles();
  Pipeline boxes = make_boxes();
  const Pipeline hits = make_ray_pipeline(*context_, {.layout = layout_,
                                                      .libraries = {triangles, boxes},
                                                      .flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR,
                                                      .interface = true});
  const Pipeline callables = make_callables();
  const Pipeline pipeline = link({hits, callables});
  const BindingTable table = table_of(pipeline);
  triangles.reset();
  boxes.reset();
  measure(pipeline, table);
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

TEST_F(RayLibraries, a_stage_that_is_linked_twice_is_reported_once) {
  start();
  const Pipeline boxes = make_boxes();
  const Pipeline callables = make_callables();
  for (const bool instrumented : {false, true}) {
    const Pipeline triangles = make_triangles(instrumented);
    const Pipeline hits = make_ray_pipeline(*context_, {.layout = layout_,
                                                        .libraries = {triangles},
                                                        .flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR,
                                                        .instrumented = instrumented,
                                                        .interface = true});
    const Pipeline pipeline = link({hits, triangles, boxes, callables});
    const BindingTable table(*context_, pipeline, 10, {0, {1, 2}, {3, 6, 7}, {8, 9}});
    instrumentation_.emplace(*context_);
    measure(pipeline, table);
    const bool right = take_image() == expected_image();
    if (!instrumented && !right) GTEST_SKIP() << "the driver runs such a stage twice";
    EXPECT_TRUE(right);
  }
  sub_indices_ = {0, 1, 2, 3, 4, 7, 8, 9, 10, 11};
  expect_known_answers();
  for (const BlockValues& block : instrumentation_->read()) {
    EXPECT_NE(block.header.resultSubIndex, 5u);
    EXPECT_NE(block.header.resultSubIndex, 6u);
  }
}

TEST_F(RayLibraries, stages_of_a_library_without_the_flag_are_not_counted) {
  start();
  const Pipeline triangles = make_triangles(false);
  const Pipeline boxes = make_boxes();
  const Pipeline callables = make_callables();
  const Pipeline pipeline = link({triangles, boxes, callables});
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  EXPECT_EQ(counts(kRays).invocations(), 64u);
  EXPECT_EQ(counts(kBoxAnyHit).invocations(), 16u);
  EXPECT_EQ(counts(kOdd).at("high"), 2u);
  for (const BlockValues& block : instrumentation_->read()) {
    EXPECT_NE(block.header.resultSubIndex, kSurface);
    EXPECT_NE(block.header.resultSubIndex, kLeaf);
  }
}

TEST_F(RayLibraries, a_pipeline_without_the_flag_counts_nothing_whatever_its_libraries_have) {
  start();
  const Pipeline triangles = make_triangles();
  const Pipeline boxes = make_boxes();
  const Pipeline callables = make_callables();
  const Pipeline pipeline =
      make_ray_pipeline(*context_, {.stages = {kAllStages.begin(), kAllStages.begin() + 3},
                                    .groups = {kAllGroups.begin(), kAllGroups.begin() + 3},
                                    .layout = layout_,
                                    .libraries = {triangles, boxes, callables},
                                    .instrumented = false,
                                    .interface = true});
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  EXPECT_TRUE(instrumentation_->read().empty());
}

}  // namespace
}  // namespace tally::test
