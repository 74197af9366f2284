// The shader clock by region: the values depend on the machine, but the test knows where it runs
// and which regions take longer.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "api/regions/kit.h"
#include "catalogue/catalogue.h"
#include "discard.frag.h"
#include "late_work.frag.h"

namespace tally::test {
namespace {

constexpr const char* kClock = "shader_clock";

class RegionClock : public RegionsTest {
 protected:
  // Regions of 16x16 pixels: 8 columns, 4 rows.
  void SetUp() override {
    start({{"region_size", "16x16"}});
    if (!offers_counter(context(), kClock)) GTEST_SKIP() << "no shaderSubgroupClock";
    target_.emplace(context(), RenderTargetInfo{.extent = kExtent});
  }
  void capture_whole(const Capture& values, VkPipeline pipeline) {
    capture(*target_, values,
            [&](VkCommandBuffer commands) { draw(commands, pipeline, whole(*target_)); });
  }

  std::optional<RenderTarget> target_;
};

TEST_F(RegionClock, runs_where_fragments_run) {
  const Pipeline pipeline = make_rectangles(late_work_frag);
  const Capture values(context(), {kExtent, {kClock}});
  capture(*target_, values, [&](VkCommandBuffer commands) {
    draw(commands, pipeline, {32, 16, 96, 48, 128, 64});
  });
  for (uint32_t row = 0; row < values.rows(); ++row) {
    for (uint32_t column = 0; column < values.columns(); ++column) {
      const bool inside = column >= 2 && column < 6 && row >= 1 && row < 3;
      EXPECT_EQ(values.value(kClock, column, row) != 0, inside) << column << ", " << row;
    }
  }
  values.expect_layout();
}

// On a busy machine a thread of the driver may wait anywhere: the least of several captures.
TEST_F(RegionClock, takes_longer_where_the_shader_does) {
  const Pipeline pipeline = make_rectangles(late_work_frag);
  std::array<uint64_t, 8> least{};  // of each column
  least.fill(std::numeric_limits<uint64_t>::max());
  for (int i = 0; i < 5; ++i) {
    const Capture values(context(), {kExtent, {kClock}});
    capture_whole(values, pipeline);
    for (uint32_t column = 0; column < values.columns(); ++column) {
      uint64_t clock = 0;
      for (uint32_t row = 0; row < values.rows(); ++row) clock += values.value(kClock, column, row);
      least.at(column) = std::min(least.at(column), clock);
    }
  }
  const auto half = least.begin() + 4;
  const uint64_t brief = std::accumulate(least.begin(), half, uint64_t{0});
  const uint64_t late = std::accumulate(half, least.end(), uint64_t{0});
  EXPECT_GT(late, 3 * brief);
}

TEST_F(RegionClock, leaves_the_other_counters_as_they_are) {
  std::vector<std::string_view> others;
  for (const catalogue::Counter* one : catalogue::counters_of(catalogue::Scope::Region)) {
    // New lavapipe chooses subgroups freely.
    const bool stable = one->id != "fragment_subgroups" && one->id != "helper_invocations";
    if (one->id != kClock && stable && offers_counter(context(), one->id)) {
      others.push_back(one->id);
    }
  }
  std::vector<std::string_view> all = others;
  all.push_back(kClock);
  const Pipeline pipeline = make_rectangles(discard_frag);
  const Capture without(context(), {kExtent, others});
  const Capture with(context(), {kExtent, all});
  capture_whole(without, pipeline);
  capture_whole(with, pipeline);
  EXPECT_GT(with.sum(kClock), 0u);
  for (const std::string_view id : others) {
    for (uint32_t row = 0; row < with.rows(); ++row) {
      for (uint32_t column = 0; column < with.columns(); ++column) {
        EXPECT_EQ(with.value(id, column, row), without.value(id, column, row)) << id;
      }
    }
  }
}

// With counting by lane, no invocation represents the subgroup.
TEST_F(RegionClock, stands_still_where_lanes_count_alone) {
  target_.reset();
  start({{"region_size", "16x16"}, {"counting", "lane"}});
  target_.emplace(context(), RenderTargetInfo{.extent = kExtent});
  const Pipeline pipeline = make_rectangles(late_work_frag);
  const Capture values(context(), {kExtent, {kClock, "fragment_invocations"}});
  capture_whole(values, pipeline);
  EXPECT_EQ(values.sum(kClock), 0u);
  EXPECT_EQ(values.sum("fragment_invocations"), 128u * 64);
}

}  // namespace
}  // namespace tally::test
