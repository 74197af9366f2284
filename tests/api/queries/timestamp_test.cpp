// Timestamp queries: the driver's, and those that a shader writes from the device's clock.
#include <chrono>
#include <cmath>
#include <thread>

#include "api/queries/scenes.h"
#include "full_screen.vert.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr VkPipelineStageFlagBits kTop = VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT;
constexpr VkPipelineStageFlagBits kBottom = VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT;
// The measured maximum error of the scale of a clock that is not a timestamp.
constexpr double kScaleError = 0.02;

class Timestamps : public EverySource {
 protected:
  void SetUp() override {
    start(false);
    VkPhysicalDeviceShaderClockFeaturesKHR clock{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR};
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &clock};
    vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(context().gpu(), &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(context().gpu(), &count, families.data());
    for (const auto& family : families) drivers_bits_.push_back(family.timestampValidBits);
    if (!emulated()) return;
    if (!clock.shaderDeviceClock) GTEST_SKIP() << "no clock of the device in shaders";
    start();
  }

  VkResult state_of(const Queries& queries, uint32_t query) {
    uint64_t number = 0;
    return vkGetQueryPoolResults(context().device(), queries, query, 1, sizeof number, &number, 8,
                                 VK_QUERY_RESULT_64_BIT);
  }
  // Uses vkCmdWriteTimestamp2.
  void write2(VkCommandBuffer commands, const Queries& queries, uint32_t query) {
    context().function<PFN_vkCmdWriteTimestamp2>("vkCmdWriteTimestamp2")(
        commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries, query);
  }
  // Modulo the valid bits.
  uint64_t passed(uint64_t from, uint64_t to) {
    uint32_t count = context().queue_family() + 1;
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(context().gpu(), &count, families.data());
    return (to - from) & (~uint64_t{0} >> (64 - families.back().timestampValidBits));
  }
  // Less than a minute later, so that a decrease would be detected.
  bool follows(uint64_t from, uint64_t to) { return nanoseconds(from, to) < 60e9; }
  double nanoseconds(uint64_t from, uint64_t to) {
    return static_cast<double>(passed(from, to)) *
           double{context().properties().limits.timestampPeriod};
  }

  std::vector<uint32_t> drivers_bits_;  // by queue family
};

TEST_P(Timestamps, families_say_how_many_bits_are_valid_and_the_device_how_long_a_unit_is) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(context().gpu(), &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(context().gpu(), &count, families.data());
  std::vector<VkQueueFamilyProperties2> again(count, {VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2});
  vkGetPhysicalDeviceQueueFamilyProperties2(context().gpu(), &count, again.data());
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bits = families[i].timestampValidBits;
    EXPECT_EQ(bits, again[i].queueFamilyProperties.timestampValidBits);
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) {
      EXPECT_GE(bits, 36u);
      EXPECT_LE(bits, 64u);
    } else {
      EXPECT_EQ(bits, drivers_bits_.at(i)) << "as without the layer";
    }
  }
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  vkGetPhysicalDeviceProperties2(context().gpu(), &properties);
  EXPECT_GT(properties.properties.limits.timestampPeriod, 0);
  EXPECT_EQ(properties.properties.limits.timestampPeriod,
            context().properties().limits.timestampPeriod);
}

TEST_P(Timestamps, are_unavailable_until_they_are_written) {
  const Queries queries(context(), VK_QUERY_TYPE_TIMESTAMP, 3);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    vkCmdWriteTimestamp(commands, kBottom, queries, 1);
  });
  EXPECT_EQ(state_of(queries, 0), VK_NOT_READY);
  EXPECT_EQ(state_of(queries, 1), VK_SUCCESS);
  EXPECT_NE(queries.read(1)[0], 0u);
  vkResetQueryPool(context().device(), queries, 1, 1);
  EXPECT_EQ(state_of(queries, 1), VK_NOT_READY);
}

TEST_P(Timestamps, that_happen_after_another_are_no_lower) {
  constexpr uint32_t kCount = 64;
  const Pipeline pipeline = make_work();
  const Queries queries(context(), VK_QUERY_TYPE_TIMESTAMP, kCount);
  const VkCommandBuffer commands = context().begin_commands(0);
  queries.reset(commands);
  for (uint32_t i = 0; i < kCount; ++i) {
    i % 2 == 0 ? vkCmdWriteTimestamp(commands, kBottom, queries, i) : write2(commands, queries, i);
    dispatch(commands, pipeline, 1);
  }
  check(vkEndCommandBuffer(commands));
  std::optional<uint64_t> last;
  for (int submission = 0; submission < 3; ++submission) {
    context().submit_and_wait(commands);
    for (uint32_t i = 0; i < kCount; ++i) {
      const uint64_t now = queries.read(i)[0];
      EXPECT_TRUE(follows(last.value_or(now), now)) << i;
      last = now;
    }
  }
}

TEST_P(Timestamps, differ_by_the_time_that_passes_on_the_host) {
  const Queries queries(context(), VK_QUERY_TYPE_TIMESTAMP, 2);
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  Clock::time_point before[2], after[2];
  for (uint32_t i = 0; i < 2; ++i) {
    before[i] = Clock::now();
    context().run(
        [&](VkCommandBuffer commands) { vkCmdWriteTimestamp(commands, kBottom, queries, i); });
    after[i] = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const double device = nanoseconds(queries.read(0)[0], queries.read(1)[0]);
  const auto host = [](Clock::duration duration) {
    return std::chrono::duration<double, std::nano>(duration).count();
  };
  EXPECT_GE(device, host(before[1] - after[0]) * (1 - kScaleError));
  EXPECT_LE(device, host(after[1] - before[0]) * (1 + kScaleError));
}

TEST_P(Timestamps, are_of_the_clock_that_is_calibrated) {
  if (!context().has_extension(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME)) {
    GTEST_SKIP() << "the driver calibrates none";
  }
  start(emulated(), {.device_extensions = {VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME}});
  const auto calibrate =
      context().function<PFN_vkGetCalibratedTimestampsEXT>("vkGetCalibratedTimestampsEXT");
  const auto device_now = [&] {
    const VkCalibratedTimestampInfoEXT domain{VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
                                              nullptr, VK_TIME_DOMAIN_DEVICE_EXT};
    uint64_t now = 0, deviation = 0;
    check(calibrate(context().device(), 1, &domain, &now, &deviation));
    return now;
  };
  const Queries queries(context(), VK_QUERY_TYPE_TIMESTAMP);
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = device_now();
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      vkCmdWriteTimestamp(commands, kBottom, queries, 0);
    });
    const uint64_t after = device_now();
    const uint64_t written = queries.read()[0];
    EXPECT_TRUE(follows(before, written)) << before << " " << written;
    EXPECT_TRUE(follows(written, after)) << written << " " << after;
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  }
}

TEST_P(Timestamps, in_render_passes_are_written_at_a_later_stage_and_in_order) {
  const Pipeline pipeline = make_graphics({{kVertex, full_screen_vert}, {kFragment, plain_frag}});
  const RenderTarget target(context());
  const Queries queries(context(), VK_QUERY_TYPE_TIMESTAMP, 4);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    vkCmdWriteTimestamp(commands, kTop, queries, 0);
    target.begin(commands);
    vkCmdWriteTimestamp(commands, kTop, queries, 1);
    draw(commands, pipeline, 3);
    vkCmdWriteTimestamp(commands, kBottom, queries, 2);
    target.end(commands);
    vkCmdWriteTimestamp(commands, kBottom, queries, 3);
  });
  for (uint32_t i = 1; i < 4; ++i) {
    EXPECT_TRUE(follows(queries.read(i - 1)[0], queries.read(i)[0])) << i;
  }
}

TEST_P(Timestamps, of_several_views_take_a_query_each) {
  if (!emulated() && driver_name().starts_with("lavapipe")) {
    GTEST_SKIP() << "lavapipe makes one query available, not one a view";
  }
  const RenderTarget target(context(), {.view_mask = 7});
  const Queries queries(context(), VK_QUERY_TYPE_TIMESTAMP, 5);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands);
    vkCmdWriteTimestamp(commands, kBottom, queries, 1);
    target.end(commands);
  });
  EXPECT_EQ(state_of(queries, 0), VK_NOT_READY);
  for (uint32_t i = 1; i < 4; ++i) EXPECT_EQ(state_of(queries, i), VK_SUCCESS) << i;
  EXPECT_EQ(state_of(queries, 4), VK_NOT_READY);
  EXPECT_NE(queries.read(1)[0], 0u);
}

TEST_P(Timestamps, are_written_in_secondary_command_buffers) {
  const Queries queries(context(), VK_QUERY_TYPE_TIMESTAMP, 3);
  const VkCommandBuffer secondary = context().begin_secondary();
  vkCmdWriteTimestamp(secondary, kBottom, queries, 1);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    vkCmdWriteTimestamp(commands, kBottom, queries, 0);
    vkCmdExecuteCommands(commands, 1, &secondary);
    vkCmdWriteTimestamp(commands, kBottom, queries, 2);
  });
  EXPECT_TRUE(follows(queries.read(0)[0], queries.read(1)[0]));
  EXPECT_TRUE(follows(queries.read(1)[0], queries.read(2)[0]));
}

TEST_P(Timestamps, are_one_number_in_results_and_copies_of_32_and_64_bits) {
  if (driver_name() == "nvidia") {
    GTEST_SKIP() << "NVIDIA's copies of 32 bits do not hold what its results hold, and the layer "
                    "does not emulate timestamps there";
  }
  const Queries queries(context(), VK_QUERY_TYPE_TIMESTAMP, 2);
  const Buffer buffer(context(), 64, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  constexpr VkQueryResultFlags kFlags =
      VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    for (uint32_t i = 0; i < 2; ++i) vkCmdWriteTimestamp(commands, kBottom, queries, i);
    vkCmdCopyQueryPoolResults(commands, queries, 0, 2, buffer, 0, 16,
                              kFlags | VK_QUERY_RESULT_64_BIT);
    vkCmdCopyQueryPoolResults(commands, queries, 0, 2, buffer, 32, 8, kFlags);
    full_barrier(commands);
  });
  const auto wide = buffer.as<uint64_t>();
  const auto narrow = buffer.as<uint32_t>().subspan(8);
  for (uint32_t i = 0; i < 2; ++i) {
    const uint64_t number = queries.read(i)[0];
    EXPECT_EQ(wide[2 * i], number);
    EXPECT_NE(wide[2 * i + 1], 0u);
    EXPECT_NE(narrow[2 * i + 1], 0u);
    uint32_t host[2] = {};
    check(vkGetQueryPoolResults(context().device(), queries, i, 1, sizeof host, host, sizeof host,
                                kFlags));
    EXPECT_EQ(narrow[2 * i], host[0]);
    EXPECT_TRUE(host[0] == static_cast<uint32_t>(number) || host[0] == UINT32_MAX)
        << "it wraps or saturates";
  }
}

TEST_P(Timestamps, bind_nothing_that_the_application_can_notice) {
  const Pipeline pipeline = make_work();
  const Queries times(context(), VK_QUERY_TYPE_TIMESTAMP, 2);
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                        VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  if (!context().features().pipelineStatisticsQuery) GTEST_SKIP() << "the driver has none";
  context().run([&](VkCommandBuffer commands) {
    times.reset(commands);
    queries.reset(commands);
    queries.begin(commands);
    dispatch(commands, pipeline, 2);
    vkCmdWriteTimestamp(commands, kBottom, times, 0);
    vkCmdDispatch(commands, 3, 1, 1);  // with the same pipeline, constants and set
    vkCmdWriteTimestamp(commands, kBottom, times, 1);
    queries.end(commands);
  });
  EXPECT_EQ(queries.read()[0], (2u + 3) * 8) << "nor count in other queries";
  EXPECT_TRUE(follows(times.read(0)[0], times.read(1)[0]));
}

TALLY_EVERY_SOURCE(Timestamps);

}  // namespace
}  // namespace tally::test
