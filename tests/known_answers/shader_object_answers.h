// Shared by the tests of shader objects: draws with the same shaders as a pipeline, as shader
// objects, and on a device without the layer, with their counts and image.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "branchy.frag.h"
#include "rectangle.vert.h"
#include "support/instrumentation.h"
#include "support/render_target.h"
#include "support/shader_objects.h"
#include "support/stages.h"

namespace tally::test {

inline constexpr uint32_t kPushBytes = 32;
// left, top, right, bottom; the target's size. level.tesc takes the first as its level.
inline constexpr std::array<float, 8> kPush = {4, 8, 40, 60, 64, 64, 0.5f};

inline constexpr Stage kRectangle = {kVertex, rectangle_vert};
inline constexpr Stage kBranchy = {kFragment, branchy_frag};

enum class Linking { Separate, Linked };

// The counts of all commands: every header with every metric but those of subgroups, into which
// drivers pack the invocations of two pipelines differently.
using Values = std::vector<std::pair<std::array<uint32_t, 3>, std::vector<uint64_t>>>;

inline Values values_of(const Instrumentation& instrumentation) {
  Values values;
  for (const BlockValues& block : instrumentation.read()) {
    std::vector<uint64_t> metrics = block.metrics;
    metrics.at(instrumentation.metric("subgroups")) = 0;
    metrics.at(instrumentation.metric("subgroup_lanes")) = 0;
    values.emplace_back(
        std::array{block.header.resultIndex, block.header.stages, block.header.basicBlockIndex},
        std::move(metrics));
  }
  return values;
}

inline std::vector<uint32_t> stages_of(const Values& values) {
  std::vector<uint32_t> stages;
  for (const auto& [header, metrics] : values) {
    if (stages.empty() || stages.back() != header[1]) stages.push_back(header[1]);
  }
  return stages;
}

class ShaderObjectAnswers : public testing::Test {
 protected:
  struct Scene {
    std::vector<Stage> stages;
    uint32_t vertices = 4;
    VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  };
  struct Drawn {
    Values values;
    std::vector<uint32_t> image;
  };

  void SetUp() override {
    context_ = make_shader_object_context(true);
    if (!context_) GTEST_SKIP() << "no shader objects";
    target_.emplace(*context_);
    layout_ = make_pipeline_layout(*context_, {}, kPushBytes);
  }

  // The infos of shaders that are bound together.
  static std::vector<ShaderObjectInfo> infos(const std::vector<Stage>& stages, Linking linking,
                                             VkShaderCreateFlagsEXT flags) {
    if (linking == Linking::Linked) flags |= VK_SHADER_CREATE_LINK_STAGE_BIT_EXT;
    std::vector<ShaderObjectInfo> result;
    for (size_t i = 0; i < stages.size(); ++i) {
      const VkShaderStageFlags next = i + 1 < stages.size() ? stages[i + 1].stage : 0;
      result.push_back({stages[i], next, flags, {}, kPushBytes, {}});
    }
    return result;
  }

  template <typename Record>
  Drawn measure(Record&& record) {
    Instrumentation instrumentation(*context_);
    context_->run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      target_->begin(commands);
      push(commands);
      record(commands);
      target_->end(commands);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    return {values_of(instrumentation), target_->read()};
  }
  void push(VkCommandBuffer commands) const {
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, kPushBytes, kPush.data());
  }

  Drawn draw_pipeline(const Scene& scene) {
    const Pipeline pipeline = make_graphics_pipeline(
        *context_,
        {.stages = scene.stages,
         .layout = layout_,
         .topology = scene.topology,
         .patch_control_points = scene.topology == VK_PRIMITIVE_TOPOLOGY_PATCH_LIST ? 3u : 0u,
         .next = &kInstrument});
    return measure([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
      vkCmdDraw(commands, scene.vertices, 1, 0, 0);
    });
  }
  void prepare(VkCommandBuffer commands, const Scene& scene) const {
    set_draw_state(*context_, commands, {.topology = scene.topology});
    unbind_graphics_shaders(*context_, commands);
  }
  Drawn draw_objects(const Scene& scene, Linking linking) {
    const ShaderObjects shaders(
        *context_, infos(scene.stages, linking, VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM));
    return measure([&](VkCommandBuffer commands) {
      prepare(commands, scene);
      shaders.bind(commands);
      vkCmdDraw(commands, scene.vertices, 1, 0, 0);
    });
  }
  // On a device without the layer.
  static std::vector<uint32_t> draw_bare(const Scene& scene, Linking linking) {
    const auto bare = make_shader_object_context(false);
    const RenderTarget target(*bare);
    const PipelineLayout layout = make_pipeline_layout(*bare, {}, kPushBytes);
    const ShaderObjects shaders(*bare, infos(scene.stages, linking, 0));
    bare->run([&](VkCommandBuffer commands) {
      target.begin(commands);
      vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, kPushBytes, kPush.data());
      set_draw_state(*bare, commands, {.topology = scene.topology});
      unbind_graphics_shaders(*bare, commands);
      shaders.bind(commands);
      vkCmdDraw(commands, scene.vertices, 1, 0, 0);
      target.end(commands);
    });
    return target.read();
  }
  void expect_as_in_a_pipeline(const Scene& scene) {
    const Drawn pipeline = draw_pipeline(scene);
    ASSERT_EQ(stages_of(pipeline.values).size(), scene.stages.size());
    for (const Linking linking : {Linking::Separate, Linking::Linked}) {
      const Drawn objects = draw_objects(scene, linking);
      EXPECT_EQ(objects.values, pipeline.values);
      EXPECT_EQ(objects.image, pipeline.image);
      EXPECT_EQ(objects.image, draw_bare(scene, linking));
    }
  }
  std::vector<std::string> notices() const {
    std::vector<std::string> texts;
    for (const Message& message : context_->messages()) {
      if (message.id == "TALLY-uninstrumented-shader") texts.push_back(message.text);
    }
    return texts;
  }

  std::unique_ptr<Context> context_;
  std::optional<RenderTarget> target_;
  PipelineLayout layout_;
};

}  // namespace tally::test
