// Queries of all draw-related types that are active at the same time over the same draws: each
// counts what it counts alone.
#include <array>
#include <functional>
#include <iterator>

#include "api/queries/together.h"
#include "feedback.tese.h"
#include "feedback.vert.h"
#include "full_screen.vert.h"
#include "level.tesc.h"
#include "patch.vert.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

// Strips with primitive-restart indices, then patches in a separate pass; captured if transform
// feedback is supported.
class DrawsTogether : public QueriesTogether {
 protected:
  void SetUp() override { start_draws(emulated()); }
  void start_draws(bool emulated, const LayerSettings::Pairs& settings = {});

  uint32_t passes() { return context().features().tessellationShader ? 2 : 1; }
  // Inside a render pass.
  void draw_pass(VkCommandBuffer commands, uint32_t pass);
  template <typename Within>
  void draw_passes(VkCommandBuffer commands, const Within& within) {
    for (uint32_t pass = 0; pass < passes(); ++pass) {
      target_->begin(commands);
      draw_pass(commands, pass);
      if (pass == 0) within();
      target_->end(commands);
      full_barrier(commands);
    }
  }
  void expect_known(const Results& results);

  Kinds kinds_;
  std::optional<RenderTarget> target_;

 private:
  struct Functions {
    PFN_vkCmdBindTransformFeedbackBuffersEXT bind;
    PFN_vkCmdBeginTransformFeedbackEXT begin;
    PFN_vkCmdEndTransformFeedbackEXT end;
  };
  static constexpr std::array<uint16_t, 12> kIndices = {0, 1,      2,      0, 0xffff, 1,
                                                        2, 0xffff, 0xffff, 2, 0,      1};
  static constexpr uint64_t kStripVertices = 3 * 2 + 9 * 2, kStrips = 2 + 3 * 2;
  static constexpr uint32_t kPatchesDrawn = 3;
  static constexpr uint64_t kOfPatch = 24;
  // Half of a quarter of the target, without the diagonal.
  static constexpr uint64_t kSamplesOfPatch = (32 * 32 - 32) / 2;
  static constexpr uint64_t kMaxCaptured = 30;  // captured primitives

  void make_pipelines();
  void begin_capture(VkCommandBuffer commands, bool resumes);

  bool captures_ = false;
  Functions feedback_functions_{};
  std::optional<Buffer> indices_, captured_, counters_;
  Pipeline strips_, patches_;
  VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT};
  VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT primitives_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT};
};

void DrawsTogether::start_draws(bool emulated, const LayerSettings::Pairs& settings) {
  for (Pipeline* pipeline : {&strips_, &patches_}) pipeline->reset();
  for (std::optional<Buffer>* buffer : {&indices_, &captured_, &counters_}) buffer->reset();
  target_.reset();
  start(false);
  captures_ = has(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
  ContextOptions options;
  const auto add = [&](const char* extension, auto& feature, VkBool32& wanted) {
    wanted = VK_TRUE;
    feature.pNext = options.device_next;
    options.device_next = &feature;
    options.device_extensions.push_back(extension);
  };
  kinds_ = {{VK_QUERY_TYPE_OCCLUSION}};
  if (captures_) {
    add(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME, feedback_, feedback_.transformFeedback);
    kinds_.push_back({VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT});
  }
  if (emulated || has(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME)) {
    add(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME, primitives_,
        primitives_.primitivesGeneratedQuery);
    kinds_.push_back({VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT});
  }
  start(emulated, options, settings);
  if (context().features().pipelineStatisticsQuery) {
    kinds_.push_back({VK_QUERY_TYPE_PIPELINE_STATISTICS, kAllStatistics});
  }
  make_pipelines();
}

void DrawsTogether::make_pipelines() {
  GraphicsPipelineInfo strip;
  strip.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  strip.primitive_restart = true;
  std::span<const uint32_t> vertex = full_screen_vert;
  if (captures_) vertex = feedback_vert;
  strips_ = make_graphics({{kVertex, vertex}, {kFragment, plain_frag}}, strip);
  target_.emplace(context());
  indices_.emplace(context(), sizeof kIndices, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
  std::ranges::copy(kIndices, indices_->as<uint16_t>().begin());
  if (captures_) {
    captured_.emplace(context(), 3 * kMaxCaptured * (16 + 32),
                      VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT);
    counters_.emplace(context(), 8, VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT);
    feedback_functions_ = {
        context().function<PFN_vkCmdBindTransformFeedbackBuffersEXT>(
            "vkCmdBindTransformFeedbackBuffersEXT"),
        context().function<PFN_vkCmdBeginTransformFeedbackEXT>("vkCmdBeginTransformFeedbackEXT"),
        context().function<PFN_vkCmdEndTransformFeedbackEXT>("vkCmdEndTransformFeedbackEXT")};
  }
  if (passes() == 1) return;
  GraphicsPipelineInfo patches;
  patches.topology = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
  patches.patch_control_points = 3;
  patches_ = make_graphics({{kVertex, patch_vert},
                            {kControl, level_tesc},
                            {kEvaluation, feedback_tese},
                            {kFragment, plain_frag}},
                           patches);
}

// Vertices of 16 bytes in one buffer, of 32 bytes in another.
void DrawsTogether::begin_capture(VkCommandBuffer commands, bool resumes) {
  const VkBuffer buffers[] = {*captured_, *captured_};
  const VkDeviceSize offsets[] = {0, 3 * kMaxCaptured * 16};
  const VkDeviceSize sizes[] = {3 * kMaxCaptured * 16, 3 * kMaxCaptured * 32};
  feedback_functions_.bind(commands, 0, 2, buffers, offsets, sizes);
  const VkBuffer counters[] = {*counters_, *counters_};
  const VkDeviceSize places[] = {0, 4};
  feedback_functions_.begin(commands, 0, resumes ? 2 : 0, counters, places);
}

void DrawsTogether::draw_pass(VkCommandBuffer commands, uint32_t pass) {
  const float level = 4;
  vkCmdBindPipeline(commands, kGraphics, pass == 0 ? strips_ : patches_);
  vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof level, &level);
  vkCmdBindIndexBuffer(commands, *indices_, 0, VK_INDEX_TYPE_UINT16);
  if (captures_) begin_capture(commands, pass > 0);
  if (pass == 0) {
    vkCmdDraw(commands, 3, 2, 0, 0);
    vkCmdDrawIndexed(commands, kIndices.size(), 2, 0, 0, 0);
  } else {
    vkCmdDraw(commands, 3 * kPatchesDrawn, 1, 0, 0);
  }
  if (!captures_) return;
  const VkBuffer counters[] = {*counters_, *counters_};
  const VkDeviceSize places[] = {0, 4};
  feedback_functions_.end(commands, 0, 2, counters, places);
}

void DrawsTogether::expect_known(const Results& results) {
  const uint64_t patches = passes() == 2 ? kPatchesDrawn : 0;
  const uint64_t primitives = kStrips + patches * kOfPatch;
  const uint64_t samples = kStrips * 64 * 64 + patches * kSamplesOfPatch;
  const auto& statistics = results.at(VK_QUERY_TYPE_PIPELINE_STATISTICS);
  EXPECT_EQ(statistics[kAssembledVertices], kStripVertices + 3 * patches);
  EXPECT_EQ(statistics[kAssembledPrimitives], kStrips + patches);
  EXPECT_EQ(statistics[kClippingInvocations], primitives);
  EXPECT_EQ(statistics[kFragmentInvocations], samples);
  EXPECT_EQ(statistics[kPatches], patches);
  EXPECT_EQ(statistics[kComputeInvocations], 0u);
  EXPECT_EQ(results.at(VK_QUERY_TYPE_OCCLUSION)[0], samples);
  EXPECT_EQ(results.at(VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT)[0], primitives);
  if (!captures_) return;
  EXPECT_EQ(results.at(VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT),
            (std::vector<uint64_t>{std::min(primitives, kMaxCaptured), primitives}));
}

TEST_P(DrawsTogether, count_what_each_counts_alone) {
  const auto scene = [&](VkCommandBuffer commands, const auto& within) {
    draw_passes(commands, within);
  };
  Results together = run_together(kinds_, scene);
  for (const Kind& kind : kinds_) {
    EXPECT_EQ(together[kind.type], run_alone(kind, scene)) << "query type " << kind.type;
  }
  if (emulated()) expect_known(together);
}

TEST_P(DrawsTogether, count_in_every_command_buffer_of_a_submission) {
  const auto scene = [&](VkCommandBuffer commands, const auto& within) {
    draw_passes(commands, within);
  };
  const Results one = run_together(kinds_, scene);
  constexpr uint32_t kBuffers = 3;
  const Pools pools(context(), kinds_, kBuffers);
  std::array<VkCommandBuffer, kBuffers> all{};
  for (uint32_t i = 0; i < kBuffers; ++i) {
    all[i] = context().begin_commands(0);
    if (i == 0) pools.reset(all[i]);
    record(all[i], pools, i, scene);
    check(vkEndCommandBuffer(all[i]));
  }
  for (int submission = 0; submission < 2; ++submission) {
    context().submit_and_wait(all);
    for (uint32_t i = 0; i < kBuffers; ++i) {
      EXPECT_EQ(pools.read(i), one) << i;
      pools.expect_times_in_order(3 * i);
    }
  }
}

// Queries that can be inherited begin in the primary, the others in each secondary.
TEST_P(DrawsTogether, count_in_secondary_command_buffers) {
  if (!context().features().inheritedQueries) {
    ASSERT_FALSE(emulated()) << "the layer has them where the driver has none";
    GTEST_SKIP() << "no inherited queries";
  }
  const auto is_inherited = [](const Kind& kind) {
    return kind.type == VK_QUERY_TYPE_OCCLUSION || kind.type == VK_QUERY_TYPE_PIPELINE_STATISTICS;
  };
  Kinds inherited, own;
  std::ranges::copy_if(kinds_, std::back_inserter(inherited), is_inherited);
  std::ranges::copy_if(kinds_, std::back_inserter(own), std::not_fn(is_inherited));
  const Pools outer(context(), inherited), inner(context(), own, passes());
  VkCommandBufferInheritanceInfo inheritance{};
  inheritance.occlusionQueryEnable = VK_TRUE;
  inheritance.queryFlags = VK_QUERY_CONTROL_PRECISE_BIT;
  inheritance.pipelineStatistics = kAllStatistics;
  std::vector<VkCommandBuffer> secondaries;
  for (uint32_t pass = 0; pass < passes(); ++pass) {
    const VkCommandBuffer secondary = begin_secondary(*target_, 0, inheritance);
    target_->set_viewport(secondary);
    inner.begin(secondary, pass);
    draw_pass(secondary, pass);
    if (pass == 0) outer.write_time(secondary, 1);
    inner.end(secondary, pass);
    check(vkEndCommandBuffer(secondary));
    secondaries.push_back(secondary);
  }
  context().run([&](VkCommandBuffer commands) {
    outer.reset(commands);
    inner.reset(commands);
    record(commands, outer, 0, [&](VkCommandBuffer primary, const auto&) {
      for (const VkCommandBuffer& secondary : secondaries) {
        target_->begin(primary, {}, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
        vkCmdExecuteCommands(primary, 1, &secondary);
        target_->end(primary);
        full_barrier(primary);
      }
    });
  });
  Results all = outer.read();
  for (uint32_t pass = 0; pass < passes(); ++pass) {
    for (const auto& [type, numbers] : inner.read(pass)) {
      all[type].resize(numbers.size());
      std::ranges::transform(numbers, all[type], all[type].begin(), std::plus());
    }
  }
  outer.expect_times_in_order();
  expect_known(all);
}

TALLY_EVERY_SOURCE(DrawsTogether);

class DrawsBeside : public DrawsTogether {
 protected:
  void SetUp() override { start_draws(false); }
};

// One type is emulated by the layer, which instruments shaders and begins transform feedback again
// for it; the others are the driver's.
TEST_F(DrawsBeside, queries_of_the_driver_count_as_without_the_layer) {
  const auto scene = [&](VkCommandBuffer commands, const auto& within) {
    draw_passes(commands, within);
  };
  const Kinds kinds = kinds_;
  const Results drivers = run_together(kinds, scene);
  for (const char* ours : {"occlusion", "primitives_generated", "transform_feedback"}) {
    SCOPED_TRACE(ours);
    start_draws(true, {{"emulate_queries", ours}});
    for (auto& [type, numbers] : run_together(kinds, scene)) {
      if (type != VK_QUERY_TYPE_PIPELINE_STATISTICS) {
        EXPECT_EQ(numbers, drivers.at(type)) << "query type " << type;
        continue;
      }
      expect_equal(numbers, drivers.at(type));
    }
  }
}

}  // namespace
}  // namespace tally::test
