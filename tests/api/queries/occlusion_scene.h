// Scenes for occlusion queries over a target whose depth is 0.5 everywhere.
#pragma once

#include <optional>
#include <span>

#include "api/queries/scenes.h"
#include "full_screen.vert.h"
#include "plain.frag.h"

namespace tally::test {

class OcclusionScene : public QueryTypes {
 protected:
  using Code = std::span<const uint32_t>;
  static constexpr uint64_t kPixels = 64 * 64;
  static constexpr VkSampleCountFlagBits kSampleCounts[] = {VK_SAMPLE_COUNT_1_BIT,
                                                            VK_SAMPLE_COUNT_4_BIT};

  static GraphicsPipelineInfo with_depth(VkCompareOp compare, bool write = true,
                                         VkFormat format = VK_FORMAT_D32_SFLOAT) {
    GraphicsPipelineInfo info;
    info.depth_format = format;
    info.depth_test = true;
    info.depth_write = write;
    info.depth_compare = compare;
    return info;
  }

  void restart(bool emulated, ContextOptions options = {}) {
    backgrounds_.clear();
    words_.reset();
    start(emulated, std::move(options));
  }

  // One pass whose draws `record` records.
  template <typename Record>
  void pass(VkCommandBuffer commands, const RenderTarget& target, const Record& record) {
    target.begin(commands);
    prepare(commands, target);
    record();
    target.end(commands);
  }
  void prepare(VkCommandBuffer commands, const RenderTarget& target) {
    if (target.info().depth_format == VK_FORMAT_UNDEFINED) return;
    GraphicsPipelineInfo info = with_depth(VK_COMPARE_OP_ALWAYS, true, target.info().depth_format);
    info.samples = target.info().samples;
    info.view_mask = target.info().view_mask;
    backgrounds_.push_back(
        make_graphics({{kVertex, full_screen_vert}, {kFragment, plain_frag}}, info));
    draw(commands, backgrounds_.back(), 3);
  }
  // With memory for shaders that write.
  void draw(VkCommandBuffer commands, VkPipeline pipeline, uint32_t vertices,
            uint32_t instances = 1, float level = 4) {
    const VkDeviceAddress address = words().address();
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 8, sizeof address, &address);
    QueryTypes::draw(commands, pipeline, vertices, instances, level);
  }
  Pipeline make(Code vertex, Code fragment, GraphicsPipelineInfo info = {}) {
    std::vector<Stage> stages{{kVertex, vertex}};
    if (!fragment.empty()) stages.push_back({kFragment, fragment});
    return make_graphics(std::move(stages), std::move(info));
  }

  // The samples of one draw.
  struct Draw {
    Code vertex = full_screen_vert;
    Code fragment = {};
    GraphicsPipelineInfo info = {};
    uint32_t instances = 1;
    float level = 1;
  };
  template <typename Prepare>
  uint64_t samples(const Draw& one, const Prepare& set_state) {
    const RenderTarget target(context(),
                              {.depth_format = one.info.depth_format, .samples = one.info.samples});
    const Pipeline pipeline = make(one.vertex, one.fragment, one.info);
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      pass(commands, target, [&] {
        set_state(commands);
        queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
        draw(commands, pipeline, 3, one.instances, one.level);
        queries.end(commands);
      });
    });
    return queries.read()[0];
  }
  uint64_t samples(const Draw& one) {
    return samples(one, [](VkCommandBuffer) {});
  }
  uint64_t samples(Code fragment, GraphicsPipelineInfo info) {
    return samples({.fragment = fragment, .info = std::move(info)});
  }

  Buffer& words() {
    if (!words_) {
      words_.emplace(
          context(), 64,
          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    }
    return *words_;
  }

 private:
  std::optional<Buffer> words_;
  std::vector<Pipeline> backgrounds_;  // recorded command buffers need them
};

class OcclusionOfEverySource : public OcclusionScene, public testing::WithParamInterface<Source> {
 protected:
  void SetUp() override { restart(emulated()); }
  bool emulated() const { return GetParam() == Source::Emulated; }
};

}  // namespace tally::test
