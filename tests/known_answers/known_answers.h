// Shared by the known-answer tests: a device with the counters layer, and one measured submission.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "support/instrumentation.h"
#include "support/pipeline.h"
#include "support/queries.h"
#include "support/render_target.h"

namespace tally::test {

// The push constants of rectangle.vert.
struct RectanglePush {
  float left, top, right, bottom;
  float target_width, target_height;
  float depth;
};

class KnownAnswers : public testing::Test {
 protected:
  // Records `draw` into `target`, instrumented, inside a query of the driver's statistics.
  template <typename Draw>
  void measure_drawing(const RenderTarget& target, Draw&& draw) {
    statistics_.emplace(context_, target.info().view_mask ? 2 : 1);
    context_.run([&](VkCommandBuffer commands) {
      statistics_->reset(commands);
      occlusion_.reset(commands);
      instrumentation_.begin(commands);
      target.begin(commands);
      statistics_->begin(commands);
      if (!target.info().view_mask) occlusion_.begin(commands);
      draw(commands);
      if (!target.info().view_mask) occlusion_.end(commands);
      statistics_->end(commands);
      target.end(commands);
      instrumentation_.end(commands);
      full_barrier(commands);
    });
  }
  // Draws one rectangle with `pipeline`, pushing its constants through `layout`.
  void draw_rectangle(VkCommandBuffer commands, VkPipeline pipeline, VkPipelineLayout layout,
                      const RectanglePush& push, uint32_t instances = 1) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof(push), &push);
    vkCmdDraw(commands, 4, instances, 0, 0);
  }
  Counts counts(VkShaderStageFlagBits stage, std::span<const uint32_t> code,
                std::optional<uint32_t> result = std::nullopt) const {
    return Counts(instrumentation_, stage, code, result);
  }
  bool has_statistics() const { return statistics_ && statistics_->available(); }

  Context context_{with_instrumentation()};
  Instrumentation instrumentation_{context_};
  std::optional<StatisticsQuery> statistics_;
  OcclusionQuery occlusion_{context_};
};

}  // namespace tally::test
