// Shared by the tests of VK_ARM_performance_counters_by_region: a device with the extension, and
// captured render passes whose values are read by counter, region and layer.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "api/kit.h"
#include "support/instrumentation.h"
#include "support/pipeline.h"
#include "support/queries.h"
#include "support/render_target.h"
#include "support/stages.h"

namespace tally::test {

using BeginInfo = VkRenderPassPerformanceCountersByRegionBeginInfoARM;

inline constexpr const char* kInvocations = "fragment_invocations";
inline constexpr const char* kDiscarded = "discarded_invocations";
// The format of most targets.
inline constexpr VkExtent2D kExtent = {128, 64};

// The push constants of rectangle.vert.
struct RectanglePush {
  float left, top, right, bottom;
  float target_width, target_height;
  float depth = 0.5f;
};

uint32_t counter_id(std::string_view id);

// True if the device enumerates the counter.
bool offers_counter(const Context& context, std::string_view id);

// The buffers of one render pass instance, created as an application does: with only the usage that
// the extension requires. They are filled with a pattern, so unwritten parts are visible.
class Capture {
 public:
  static constexpr uint32_t kUntouched = 0xabababab;

  struct Info {
    VkExtent2D area = {64, 64};
    std::vector<std::string_view> counters = {"fragment_invocations"};
    uint32_t subpasses = 1;
    uint32_t layers = 1;
    std::vector<bool> wanted = {};  // by subpass and layer; empty: all
  };
  Capture(const Context& context, const Info& info);

  // To be chained to the struct that begins the pass.
  const BeginInfo* begin_info() const { return &begin_; }
  BeginInfo* begin_info() { return &begin_; }

  uint32_t columns() const { return columns_; }
  uint32_t rows() const { return rows_; }
  uint32_t value(std::string_view counter, uint32_t column, uint32_t row, uint32_t index = 0) const;
  uint64_t sum(std::string_view counter, uint32_t index = 0) const;
  // Expects that exactly the values of the layout were written to the buffer of `index`.
  void expect_layout(uint32_t index = 0) const;
  bool untouched(uint32_t index) const;
  void reset();

 private:
  Info info_;
  VkPhysicalDevicePerformanceCountersByRegionPropertiesARM properties_;
  uint32_t columns_ = 0, rows_ = 0, region_words_ = 0, row_words_ = 0;
  std::vector<Buffer> buffers_;
  std::vector<VkDeviceAddress> addresses_;
  std::vector<uint32_t> ids_;
  BeginInfo begin_;
};

VkPhysicalDevicePerformanceCountersByRegionPropertiesARM region_properties(const Context& context);

// Compares the counter in every region with the sum of `of_pixel(x, y)` over the region's pixels.
// Pixels are relative to `origin`, the origin of the render area.
template <typename OfPixel>
void expect_pixels(const Capture& values, std::string_view counter, const Context& context,
                   const VkRect2D& area, OfPixel&& of_pixel, uint32_t index = 0) {
  const VkExtent2D region = region_properties(context).performanceCounterRegionSize;
  std::vector<uint64_t> sums(size_t{values.columns()} * values.rows());
  for (uint32_t y = 0; y < area.extent.height; ++y) {
    for (uint32_t x = 0; x < area.extent.width; ++x) {
      sums[y / region.height * values.columns() + x / region.width] += of_pixel(
          x + static_cast<uint32_t>(area.offset.x), y + static_cast<uint32_t>(area.offset.y));
    }
  }
  for (uint32_t row = 0; row < values.rows(); ++row) {
    for (uint32_t column = 0; column < values.columns(); ++column) {
      EXPECT_EQ(values.value(counter, column, row, index), sums[row * values.columns() + column])
          << counter << " at column " << column << ", row " << row;
    }
  }
}

class RegionsTest : public testing::Test {
 protected:
  // Creates the device; `instrumentation` enables the other extension as well.
  Context& start(const LayerSettings::Pairs& settings = {}, bool instrumentation = false,
                 ContextOptions options = {});
  Context& context() { return context_ ? *context_ : start(); }

  VkPipelineLayout layout();
  // A pipeline that draws rectangles with `fragment`; `more` overrides the defaults.
  Pipeline make_rectangles(std::span<const uint32_t> fragment, GraphicsPipelineInfo more = {});
  void draw(VkCommandBuffer commands, VkPipeline pipeline, const RectanglePush& push,
            uint32_t instances = 1);
  // One rectangle over the whole target.
  static RectanglePush whole(const RenderTarget& target, float depth = 0.5f);

  // A captured dynamic render pass over the target.
  template <typename Draw>
  void capture(const RenderTarget& target, const Capture& capture, Draw&& draw_all) {
    context().run([&](VkCommandBuffer commands) {
      target.begin(commands, {0, 0, 0, 0}, 0, capture.begin_info());
      draw_all(commands);
      target.end(commands);
      attachment_barrier(commands);
    });
  }
  // One part of a suspended and resumed dynamic render pass over the target, without the target's
  // layout transitions, which are not allowed between the parts.
  static void begin_part(VkCommandBuffer commands, const RenderTarget& target,
                         VkRenderingFlags flags, const void* next);
  // The barrier that the specification requires before the host reads the values.
  static void attachment_barrier(VkCommandBuffer commands);

 private:
  std::optional<Context> context_;
  std::optional<PipelineLayout> layout_;
};

}  // namespace tally::test
