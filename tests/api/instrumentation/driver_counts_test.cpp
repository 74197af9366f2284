// Draws that the driver counts have the counts that the shaders would give, and change nothing
// else. An application that has a pool of pipeline statistics queries makes the shaders count.
//
// TALLY_TEST_SCENES=N runs so many random scenes, TALLY_TEST_SEED=N from this seed on. Each fourth
// has four samples.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/instrumentation/random_scene.h"
#include "api/kit.h"
#include "dead.frag.h"
#include "empty.frag.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "support/environment.h"
#include "support/pipeline.h"
#include "support/queries.h"

namespace tally::test {
namespace {

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// True if the driver has the workaround counts_invocations.
bool driver_counts() { return driver_name() == "lavapipe-new"; }

// Names the first difference.
template <typename T>
void expect_same(const char* what, const std::vector<T>& one, const std::vector<T>& other) {
  const auto [a, b] = std::ranges::mismatch(one, other);
  EXPECT_TRUE(a == one.end() && b == other.end())
      << what << " " << a - one.begin() << " of " << one.size() << " and " << other.size() << ": "
      << testing::PrintToString(std::vector<T>(a, std::min(a + 8, one.end()))) << " and "
      << testing::PrintToString(std::vector<T>(b, std::min(b + 8, other.end())));
}

class DriverCounts : public CountersTest {
 protected:
  static constexpr uint64_t kPixels = 64 * 64;

  // The driver does not count subgroups.
  Context& start_watched(ContextOptions options = {}) {
    options.driver_layers.push_back("VK_LAYER_TALLY_test_watched_driver");
    return start({{"count_subgroups", "false"}}, std::move(options));
  }
  static QueryPool make_statistics(const Context& context) {
    return make_query_pool(context, VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                           VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT);
  }
  // The validation layer of Debian 12 misses the state of libraries in pipelines that are linked.
  static void forget_missed_state(Context& context) {
    for (const Message& error : context.take_errors()) {
      EXPECT_EQ(error.id, "VUID-VkGraphicsPipelineCreateInfo-renderpass-06631") << error.text;
    }
  }
  // Draws that the driver has counted, if it is one that counts.
  void expect_counted(uint64_t draws) {
    EXPECT_EQ(begun_statistics(context()), driver_counts() ? draws : 0);
  }
  // The results of so many draws of a triangle over the whole target.
  static Results triangles(uint32_t draws, uint64_t times = 1) {
    Results results;
    for (uint32_t i = 0; i < draws; ++i) results.push_back({i, {3 * times, kPixels * times}});
    return results;
  }
};

TEST_F(DriverCounts, are_those_of_the_shaders_in_random_scenes) {
  if (!driver_counts()) GTEST_SKIP() << "the driver counts no draws";
  const LayerSettings settings({{"count_subgroups", "false"}, {"validate_spirv", "true"}});
  SceneExtensions extensions(context());
  ContextOptions options = extensions.options();
  options.instance_next = settings.next();
  Context by_driver(options), in_shaders(options);
  const QueryPool statistics = make_statistics(in_shaders);
  const uint64_t seed = number_of("TALLY_TEST_SEED", 1);
  const uint64_t scenes = number_of("TALLY_TEST_SCENES", 40);
  uint64_t draws = 0;
  for (uint64_t i = seed; i < seed + scenes; ++i) {
    SCOPED_TRACE("seed " + std::to_string(i));
    const auto samples = i % 4 == 0 ? VK_SAMPLE_COUNT_4_BIT : VK_SAMPLE_COUNT_1_BIT;
    const SceneOutcome a = run_random_scene(by_driver, extensions, i, samples);
    const SceneOutcome b = run_random_scene(in_shaders, extensions, i, samples);
    expect_same("value", a.values, b.values);
    expect_same("byte of the pictures", a.pictures, b.pictures);
    expect_same("other", a.others, b.others);
    const uint64_t begun = begun_statistics(by_driver) - draws;
    EXPECT_EQ(begun, a.by_driver);
    draws += begun;
    forget_missed_state(by_driver);
    forget_missed_state(in_shaders);
  }
  EXPECT_EQ(begun_statistics(in_shaders), 0u);
}

TEST_F(DriverCounts, end_after_the_most_draws_of_a_recording) {
  constexpr uint32_t kDraws = 1100;
  start_watched();
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline pipeline = make_orange(layout);
  const RenderTarget target(context());
  uint64_t counted = 0;
  // The size of draws is not known until values are read.
  for (const uint64_t most : {64, 1024}) {
    const Instrumentation instrumentation(context());
    const VkCommandBuffer commands = context().begin_commands(0);
    instrumentation.begin(commands);
    draw_orange(commands, target, pipeline, kDraws);
    instrumentation.end(commands);
    check(vkEndCommandBuffer(commands));
    counted += most;
    expect_counted(counted);
    for (uint64_t times = 1; times <= 2; ++times) {
      context().submit_and_wait(commands);
      EXPECT_EQ(results(instrumentation), triangles(kDraws, times));
    }
  }
}

TEST_F(DriverCounts, end_where_the_application_creates_a_pool) {
  start_watched();
  if (!context().features().pipelineStatisticsQuery) GTEST_SKIP() << "no pipeline statistics";
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline pipeline = make_orange(layout);
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  QueryPool pool;
  instrumentation.run([&](VkCommandBuffer commands) {
    draw_orange(commands, target, pipeline, 2);
    pool = make_statistics(context());
    vkCmdResetQueryPool(commands, pool, 0, 1);
    vkCmdBeginQuery(commands, pool, 0, 0);
    draw_orange(commands, target, pipeline, 3);
    vkCmdEndQuery(commands, pool, 0);
  });
  EXPECT_EQ(results(instrumentation), triangles(5));
  if (driver_counts()) {
    EXPECT_EQ(begun_statistics(context()), 3u);  // one of the application
  }
  uint64_t vertices = 0;
  check(vkGetQueryPoolResults(context().device(), pool, 0, 1, 8, &vertices, 8,
                              VK_QUERY_RESULT_64_BIT));
  EXPECT_EQ(vertices, 9u);
}

// The layer records nothing between the parts of the pass. The condition discards no count of the
// draws before it.
TEST_F(DriverCounts, end_at_a_suspended_pass_also_under_a_condition) {
  if (!context().has_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME))
    GTEST_SKIP() << "no conditional rendering";
  VkPhysicalDeviceConditionalRenderingFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT, nullptr, VK_TRUE};
  start_watched({.device_extensions = {VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME},
                 .device_next = &feature});
  const Buffer condition(context(), 64, VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT);
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline pipeline = make_orange(layout);
  const RenderTarget target(context()), other(context());
  const Instrumentation instrumentation(context());
  const auto draw_part = [&](VkCommandBuffer commands, VkRenderingFlags flags) {
    VkRenderingAttachmentInfo color{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    color.imageView = other.color().view();
    color.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    color.loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    color.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO};
    info.flags = flags;
    info.renderArea = {{0, 0}, other.info().extent};
    info.layerCount = 1;
    info.colorAttachmentCount = 1;
    info.pColorAttachments = &color;
    vkCmdBeginRendering(commands, &info);
    other.set_viewport(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRendering(commands);
  };
  const VkConditionalRenderingBeginInfoEXT info{
      VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT, nullptr, condition, 0, 0};
  const auto begin =
      function<PFN_vkCmdBeginConditionalRenderingEXT>("vkCmdBeginConditionalRenderingEXT");
  const auto end = function<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT");
  const std::array parts = {context().begin_commands(0), context().begin_commands(0)};
  instrumentation.begin(parts[0]);
  draw_orange(parts[0], target, pipeline, 2);
  change_layout(parts[0], other.color(), VK_IMAGE_LAYOUT_UNDEFINED,
                VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
  begin(parts[0], &info);
  draw_part(parts[0], VK_RENDERING_SUSPENDING_BIT);
  draw_part(parts[0], VK_RENDERING_RESUMING_BIT);
  end(parts[0]);
  draw_part(parts[0], VK_RENDERING_SUSPENDING_BIT);
  instrumentation.end(parts[0]);
  check(vkEndCommandBuffer(parts[0]));
  instrumentation.begin(parts[1]);
  draw_part(parts[1], VK_RENDERING_RESUMING_BIT);
  draw_orange(parts[1], target, pipeline);
  instrumentation.end(parts[1]);
  check(vkEndCommandBuffer(parts[1]));
  expect_counted(2);
  for (uint64_t times = 1; times <= 2; ++times) {
    context().submit_and_wait(parts);
    Results expected = triangles(7, times);
    expected[2].second = expected[3].second = {0, 0};
    EXPECT_EQ(results(instrumentation), expected);
  }
}

TEST_F(DriverCounts, leave_views_to_shaders) {
  if (!context().has_extension(VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME))
    GTEST_SKIP() << "no pipeline libraries";
  VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, nullptr, VK_TRUE};
  start_watched({.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                       VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME},
                 .device_next = &feature});
  const PipelineLayout layout = make_pipeline_layout(context());
  const RenderTarget target(context(), {.view_mask = 3});
  GraphicsPipelineInfo info{.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                                       {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}},
                            .layout = layout,
                            .view_mask = 3,
                            .next = &kInstrument};
  const Pipeline whole = make_graphics_pipeline(context(), info);
  VkPipelineCreateFlags2CreateInfoKHR flags = kInstrument;
  flags.flags |= VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
  info.next = &flags;
  GraphicsPipelineInfo first = info, second = info;
  first.stages.pop_back();
  first.color_format = VK_FORMAT_UNDEFINED;
  second.stages.erase(second.stages.begin());
  const Pipeline vertices =
      make_pipeline_library(context(),
                            VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                                VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
                            first);
  const Pipeline fragments =
      make_pipeline_library(context(),
                            VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
                                VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
                            second);
  const std::array<VkPipeline, 2> parts = {vertices, fragments};
  const Pipeline linked = link_graphics_pipeline(context(), layout, parts,
                                                 VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM);
  for (const VkPipeline pipeline : {whole.get(), linked.get()}) {
    const Instrumentation instrumentation(context());
    instrumentation.run([&](VkCommandBuffer commands) { draw_orange(commands, target, pipeline); });
    // Some drivers run a vertex shader once for several views.
    if (driver_counts()) {
      EXPECT_EQ(results(instrumentation), triangles(1, 2));
    }
    EXPECT_EQ(begun_statistics(context()), 0u);
  }
}

// The driver counts no invocations of fragment shaders that it takes for empty.
TEST_F(DriverCounts, leave_fragment_shaders_without_effect_to_shaders) {
  using Code = std::span<const uint32_t>;
  start_watched();
  const PipelineLayout layout = make_pipeline_layout(context());
  const RenderTarget target(context());
  uint64_t counted = 0;
  for (const Code fragment : {Code(empty_frag), Code(dead_frag), Code(orange_frag)}) {
    const Pipeline pipeline = make_graphics_pipeline(
        context(), {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                               {VK_SHADER_STAGE_FRAGMENT_BIT, fragment}},
                    .layout = layout,
                    .next = &kInstrument});
    const Instrumentation instrumentation(context());
    instrumentation.run(
        [&](VkCommandBuffer commands) { draw_orange(commands, target, pipeline, 2); });
    EXPECT_EQ(results(instrumentation), triangles(2));
    if (fragment.data() == orange_frag) counted += 2;
    expect_counted(counted);
  }
}

}  // namespace
}  // namespace tally::test
