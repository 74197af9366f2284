// Traces the scene of ray_scene.h, and knows what its stages then have to count.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "known_answers/ray_scene.h"
#include "support/instrumentation.h"

namespace tally::test {

inline constexpr uint32_t kSeed = 40;

// The texels that rays.rgen writes.
inline std::vector<uint32_t> expected_image() {
  std::vector<uint32_t> texels;
  for (uint32_t y = 0; y < kSide; ++y) {
    for (uint32_t x = 0; x < kSide; ++x) {
      uint32_t color = x < 4 ? 2 : 1;
      uint32_t weight = 0;
      if (y < 4 && x >= 4) color = 16 + 7;
      if (y >= 4 && x < 4) {
        if (x != 0) color = 17;
        weight = x == 0 ? 1 : (x == 1 ? 6 : 10);
      }
      if (y >= 4 && x > 4) {
        color = 32 + (x == 6 ? 1 : 0);
        weight = x == 6 ? 2 : (x == 7 ? 17 : 1);
      }
      uint32_t texel = color + weight * 256 + kSeed;
      if (y == 7) texel += 65536 * (x % 2 == 0 ? x * (x - 1) / 2 : (x > 4 ? 200 : 100));
      texels.push_back(texel);
    }
  }
  return texels;
}

class RayAnswers : public testing::Test {
 protected:
  void start(const std::function<void(RayTracingDevice&)>& enable = {},
             std::vector<const char*> driver_layers = {}) {
    VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
    RayTracingDevice rays(&instrumentation);
    if (enable) enable(rays);
    context_.emplace(
        rays.options({.layers = {"VK_LAYER_TALLY_counters"},
                      .driver_layers = std::move(driver_layers),
                      .device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME}}));
    scene_.emplace(*context_, kRectangles, std::span(&kBox, 1));
    image_.emplace(*context_, kSide * kSide * sizeof(uint32_t));
    set_.emplace(*context_, *scene_, *image_);
    layout_ = make_pipeline_layout(*context_, {{set_->layout()}}, 4);
    instrumentation_.emplace(*context_);
  }
  void SetUp() override {
    const Context plain;
    if (!RayTracingDevice::supported(plain)) GTEST_SKIP() << "no ray-tracing pipelines";
  }

  RayPipelineInfo whole_pipeline(bool instrumented = true) const {
    return {.stages = kAllStages,
            .groups = kAllGroups,
            .layout = layout_,
            .instrumented = instrumented};
  }
  BindingTable table_of(VkPipeline pipeline) const {
    return {*context_, pipeline, static_cast<uint32_t>(kAllGroups.size()), kParts};
  }
  void bind(VkCommandBuffer commands, VkPipeline pipeline) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipeline);
    set_->bind(commands, layout_);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof kSeed, &kSeed);
  }
  void trace(VkCommandBuffer commands, const BindingTable& table, uint32_t height = kSide) const {
    trace_rays(*context_, commands, table, kSide, height);
  }
  // Traces the image once, counted.
  void measure(VkPipeline pipeline) { measure(pipeline, table_of(pipeline)); }
  void measure(VkPipeline pipeline, const BindingTable& table) {
    context_->run([&](VkCommandBuffer commands) {
      instrumentation_->begin(commands);
      bind(commands, pipeline);
      trace(commands, table);
      instrumentation_->end(commands);
      full_barrier(commands);
    });
  }
  std::vector<uint32_t> take_image() {
    const auto texels = image_->as<uint32_t>();
    std::vector<uint32_t> image(texels.begin(), texels.end());
    image_->clear();
    return image;
  }
  Counts counts(uint32_t stage, std::optional<uint32_t> result = std::nullopt) const {
    const Stage& shader = kAllStages[stage];
    return Counts(*instrumentation_, shader.stage, shader.code, result, sub_indices_[stage]);
  }
  void expect_known_answers(std::optional<uint32_t> result = std::nullopt) const {
    EXPECT_EQ(counts(kRays, result).invocations(), 64u);
    EXPECT_EQ(counts(kRays, result).at("calls"), 8u);
    // Nothing, ignored hits, column 4 of the box.
    EXPECT_EQ(counts(kSky, result).invocations(), 16u + 4 + 4);
    EXPECT_EQ(counts(kSky, result).at("left"), 16u + 4);
    EXPECT_EQ(counts(kLit, result).invocations(), 16u);
    EXPECT_EQ(counts(kSurface, result).invocations(), 16u + 12);
    EXPECT_EQ(counts(kSurface, result).at("first"), 16u);
    EXPECT_EQ(counts(kLeaf, result).invocations(), 16u);
    EXPECT_EQ(counts(kLeaf, result).at("ignored"), 4u);
    EXPECT_EQ(counts(kLeaf, result).at("ended"), 4u);
    EXPECT_EQ(counts(kBoxIntersection, result).invocations(), 16u);
    EXPECT_EQ(counts(kBoxIntersection, result).at("round"), 4u * (1 + 2 + 1));
    EXPECT_EQ(counts(kBoxIntersection, result).at("accepted"), 4u * (1 + 2));
    EXPECT_EQ(counts(kBoxIntersection, result).at("some"), 4u * 2);
    EXPECT_EQ(counts(kBoxAnyHit, result).invocations(), 4u * (1 + 2 + 1));
    EXPECT_EQ(counts(kBoxAnyHit, result).at("ended"), 4u);
    EXPECT_EQ(counts(kBoxHit, result).invocations(), 12u);
    EXPECT_EQ(counts(kEven, result).invocations(), 4u);
    EXPECT_EQ(counts(kEven, result).at("round"), 0u + 2 + 4 + 6);
    EXPECT_EQ(counts(kOdd, result).invocations(), 4u);
    EXPECT_EQ(counts(kOdd, result).at("high"), 2u);
  }

  // Destroyed in reverse order.
  std::optional<Context> context_;
  std::optional<RayScene> scene_;
  std::optional<Buffer> image_;
  std::optional<RaySet> set_;
  PipelineLayout layout_;
  std::optional<Instrumentation> instrumentation_;
  // Indexed by stage of kAllStages: the resultSubIndex.
  std::array<uint32_t, kStages> sub_indices_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
};

}  // namespace tally::test
