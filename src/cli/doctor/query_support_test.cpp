#include "cli/doctor/device_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tally::cli {
namespace {

using How = QuerySupport::How;

class QueryTypes : public testing::Test {
 protected:
  QuerySupport of(std::string_view id, const std::vector<std::string>& missing = {}) {
    support_.native = &native_;
    support_.with_tally = layer_ ? &with_tally_ : nullptr;
    support_.missing = missing;
    const auto all = query_support(support_);
    const auto found = std::ranges::find(all, id, &QuerySupport::id);
    EXPECT_NE(found, all.end()) << id;
    return found == all.end() ? QuerySupport{} : *found;
  }

  ProbedDevice native_, with_tally_;
  bool layer_ = true;

 private:
  DeviceSupport support_;
};

TEST_F(QueryTypes, types_that_the_driver_reports_are_native) {
  EXPECT_EQ(of("pipeline_statistics").how, How::No);
  native_.features["pipelineStatisticsQuery"] = with_tally_.features["pipelineStatisticsQuery"] =
      true;
  EXPECT_EQ(of("pipeline_statistics").how, How::Native);
  EXPECT_EQ(of("pipeline_statistics").detail, "");
  EXPECT_EQ(of("occlusion").how, How::Native) << "every Vulkan has it";
}

TEST_F(QueryTypes, types_that_only_the_layer_reports_are_emulated) {
  with_tally_.features["performanceCounterQueryPools"] = true;
  with_tally_.limits["performanceCounters"] = 93;
  with_tally_.extensions.insert("VK_INTEL_performance_query");
  with_tally_.limits["queueFamiliesWithResultStatus"] = 1;
  with_tally_.limits["queueFamiliesWithTimestamps"] = 1;
  EXPECT_EQ(of("performance_khr").how, How::Emulated);
  EXPECT_THAT(of("performance_khr").detail, testing::StartsWith("93 counters: "));
  EXPECT_EQ(of("performance_intel").how, How::Emulated);
  EXPECT_EQ(of("result_status").how, How::Emulated);
  EXPECT_EQ(of("timestamp").detail, "the device's clock, read by a shader");
}

TEST_F(QueryTypes, counters_that_the_layer_adds_are_reported) {
  native_.features["performanceCounterQueryPools"] = true;
  with_tally_.features["performanceCounterQueryPools"] = true;
  native_.limits["performanceCounters"] = 6;
  with_tally_.limits["performanceCounters"] = 98;
  EXPECT_EQ(of("performance_khr").how, How::Native);
  EXPECT_EQ(of("performance_khr").detail, "6 counters, and 92 of Tally's");
  with_tally_.limits["performanceCounters"] = 6;
  EXPECT_EQ(of("performance_khr").detail, "");
  layer_ = false;
  EXPECT_EQ(of("performance_khr").detail, "");
}

TEST_F(QueryTypes, unavailable_types_name_what_the_driver_lacks) {
  EXPECT_EQ(of("mesh_statistics").detail, "the driver lacks VK_EXT_mesh_shader");
  EXPECT_EQ(of("timestamp").detail,
            "the driver lacks timestampValidBits of a queue family, or shaderDeviceClock");
  EXPECT_EQ(of("elapsed_time").detail, "the driver lacks timestampValidBits of a queue family");
  EXPECT_EQ(of("video_encode_feedback").detail, "the driver lacks VK_KHR_video_encode_queue");
  EXPECT_EQ(of("pipeline_statistics", {"bufferDeviceAddress", "Vulkan 1.1"}).detail,
            "the driver lacks bufferDeviceAddress, Vulkan 1.1");
  EXPECT_EQ(of("performance_khr").detail, "Tally does not emulate it");
  EXPECT_EQ(of("result_status").detail, "only with the setting emulate_queries");
  layer_ = false;
  EXPECT_EQ(of("performance_khr").detail, "Tally's layer was not found");
}

TEST_F(QueryTypes, ids_are_unique_and_in_the_order_of_the_chapter) {
  DeviceSupport support;
  support.native = &native_;
  std::vector<std::string> ids;
  for (const QuerySupport& one : query_support(support)) ids.push_back(one.id);
  EXPECT_THAT(ids, testing::ElementsAre(
                       "occlusion", "occlusion_precise", "pipeline_statistics", "mesh_statistics",
                       "timestamp", "performance_khr", "transform_feedback", "primitives_generated",
                       "performance_intel", "result_status", "elapsed_time",
                       "video_encode_feedback", "acceleration_structure", "micromap"));
}

}  // namespace
}  // namespace tally::cli
