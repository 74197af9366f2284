// VK_INTEL_performance_query: the object set, reports with markers, overrides.
#include <tally/intel_report.h>

#include <algorithm>

#include "api/queries/kit.h"
#include "full_screen.vert.h"
#include "plain.frag.h"
#include "reads.comp.h"
#include "support/environment.h"

namespace tally::test {
namespace {

using testing::ElementsAre;

class IntelTest : public QueriesTest {
 protected:
  void SetUp() override { start_intel({}); }
  void start_intel(ContextOptions options) {
    options.device_extensions.push_back(VK_INTEL_PERFORMANCE_QUERY_EXTENSION_NAME);
    options.layers.push_back("VK_LAYER_TALLY_counters");
    const LayerSettings settings(LayerSettings::Pairs{{"validate_spirv", "true"}});
    options.instance_next = settings.next();
    start(false, options);
    const VkInitializePerformanceApiInfoINTEL info{
        VK_STRUCTURE_TYPE_INITIALIZE_PERFORMANCE_API_INFO_INTEL, nullptr, nullptr};
    check(function<PFN_vkInitializePerformanceApiINTEL>("vkInitializePerformanceApiINTEL")(
        context().device(), &info));
  }
  void TearDown() override {
    function<PFN_vkUninitializePerformanceApiINTEL>("vkUninitializePerformanceApiINTEL")(
        context().device());
  }

  template <typename Function>
  Function function(const char* name) {
    return context().function<Function>(name);
  }

  Queries make_pool(uint32_t count = 1) {
    const VkQueryPoolPerformanceQueryCreateInfoINTEL info{
        VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_QUERY_CREATE_INFO_INTEL, nullptr,
        VK_QUERY_POOL_SAMPLING_MODE_MANUAL_INTEL};
    return {context(), VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL, count, 0, &info};
  }

  void marker(VkCommandBuffer commands, uint64_t value) {
    const VkPerformanceMarkerInfoINTEL info{VK_STRUCTURE_TYPE_PERFORMANCE_MARKER_INFO_INTEL,
                                            nullptr, value};
    check(function<PFN_vkCmdSetPerformanceMarkerINTEL>("vkCmdSetPerformanceMarkerINTEL")(commands,
                                                                                         &info));
  }
  void stream_marker(VkCommandBuffer commands, uint32_t value) {
    const VkPerformanceStreamMarkerInfoINTEL info{
        VK_STRUCTURE_TYPE_PERFORMANCE_STREAM_MARKER_INFO_INTEL, nullptr, value};
    check(function<PFN_vkCmdSetPerformanceStreamMarkerINTEL>(
        "vkCmdSetPerformanceStreamMarkerINTEL")(commands, &info));
  }
  void set_override(VkCommandBuffer commands, VkPerformanceOverrideTypeINTEL type, bool enable) {
    const VkPerformanceOverrideInfoINTEL info{VK_STRUCTURE_TYPE_PERFORMANCE_OVERRIDE_INFO_INTEL,
                                              nullptr, type, enable ? VK_TRUE : VK_FALSE, 0};
    check(function<PFN_vkCmdSetPerformanceOverrideINTEL>("vkCmdSetPerformanceOverrideINTEL")(
        commands, &info));
  }
  void null_hardware(VkCommandBuffer commands, bool enable) {
    set_override(commands, VK_PERFORMANCE_OVERRIDE_TYPE_NULL_HARDWARE_INTEL, enable);
  }

  // One query around `work`.
  template <typename Work>
  void run(const Queries& pool, Work&& work) {
    context().run([&](VkCommandBuffer commands) {
      pool.reset(commands);
      pool.begin(commands);
      work(commands);
      pool.end(commands);
    });
  }

  TallyIntelReport read(const Queries& pool, uint32_t query = 0) {
    bytes_.assign(TALLY_INTEL_REPORT_BYTES, 0xee);
    check(vkGetQueryPoolResults(context().device(), pool, query, 1, bytes_.size(), bytes_.data(),
                                bytes_.size(), VK_QUERY_RESULT_WAIT_BIT));
    TallyIntelReport report{};
    EXPECT_EQ(tally_intel_report_read(bytes_.data(), bytes_.size(), &report),
              TALLY_INTEL_REPORT_OK);
    return report;
  }
  static uint64_t value(const TallyIntelReport& report, uint32_t counter) {
    uint64_t value = ~uint64_t{0};
    EXPECT_TRUE(tally_intel_report_value(&report, counter, &value)) << counter;
    return value;
  }

  std::vector<std::string> ids_of_messages() {
    std::vector<std::string> ids;
    for (const Message& message : context().messages()) ids.push_back(message.id);
    return ids;
  }

 private:
  std::vector<unsigned char> bytes_;
};

TEST_F(IntelTest, the_extension_is_offered_and_its_parameters_say_what_can_be_had) {
  EXPECT_TRUE(context().has_extension(VK_INTEL_PERFORMANCE_QUERY_EXTENSION_NAME));
  const auto get = function<PFN_vkGetPerformanceParameterINTEL>("vkGetPerformanceParameterINTEL");
  VkPerformanceValueINTEL value{};
  check(get(context().device(), VK_PERFORMANCE_PARAMETER_TYPE_HW_COUNTERS_SUPPORTED_INTEL, &value));
  EXPECT_EQ(value.type, VK_PERFORMANCE_VALUE_TYPE_BOOL_INTEL);
  EXPECT_TRUE(value.data.valueBool);
  check(get(context().device(), VK_PERFORMANCE_PARAMETER_TYPE_STREAM_MARKER_VALID_BITS_INTEL,
            &value));
  EXPECT_EQ(value.data.value32, 32u);
}

TEST_F(IntelTest, a_configuration_can_be_set_until_it_is_released) {
  const VkPerformanceConfigurationAcquireInfoINTEL info{
      VK_STRUCTURE_TYPE_PERFORMANCE_CONFIGURATION_ACQUIRE_INFO_INTEL, nullptr,
      VK_PERFORMANCE_CONFIGURATION_TYPE_COMMAND_QUEUE_METRICS_DISCOVERY_ACTIVATED_INTEL};
  VkPerformanceConfigurationINTEL configuration = VK_NULL_HANDLE;
  check(function<PFN_vkAcquirePerformanceConfigurationINTEL>(
      "vkAcquirePerformanceConfigurationINTEL")(context().device(), &info, &configuration));
  EXPECT_NE(configuration, VkPerformanceConfigurationINTEL{});
  const auto set = function<PFN_vkQueueSetPerformanceConfigurationINTEL>(
      "vkQueueSetPerformanceConfigurationINTEL");
  const auto release = function<PFN_vkReleasePerformanceConfigurationINTEL>(
      "vkReleasePerformanceConfigurationINTEL");
  EXPECT_EQ(set(context().queue(), configuration), VK_SUCCESS);
  EXPECT_EQ(release(context().device(), configuration), VK_SUCCESS);
  EXPECT_EQ(release(context().device(), VK_NULL_HANDLE), VK_SUCCESS);
  EXPECT_NE(set(context().queue(), configuration), VK_SUCCESS);
  EXPECT_NE(release(context().device(), configuration), VK_SUCCESS);
  std::vector<std::string> ids;
  for (const Message& message : context().take_errors()) ids.push_back(message.id);
  EXPECT_THAT(ids,
              ElementsAre("VUID-vkQueueSetPerformanceConfigurationINTEL-configuration-parameter",
                          "VUID-vkReleasePerformanceConfigurationINTEL-configuration-parameter"));
}

TEST_F(IntelTest, a_report_holds_what_was_counted) {
  const Queries pool = make_pool();
  const Pipeline pipeline = make_work();
  run(pool, [&](VkCommandBuffer commands) {
    dispatch(commands, pipeline, 3);
    dispatch(commands, pipeline, 4);
  });
  const TallyIntelReport report = read(pool);
  EXPECT_EQ(value(report, TALLY_INTEL_DISPATCHES), 2u);
  EXPECT_EQ(value(report, TALLY_INTEL_COMPUTE_SHADER_INVOCATIONS), 56u);
  EXPECT_EQ(value(report, TALLY_INTEL_SHADER_INVOCATIONS), 56u);
  EXPECT_EQ(value(report, TALLY_INTEL_DRAWS), 0u);
  EXPECT_GT(value(report, TALLY_INTEL_GPU_TIME), 0u);
  EXPECT_GE(value(report, TALLY_INTEL_INSTRUCTIONS), 56u);
  EXPECT_EQ(report.flags, 0u);
  EXPECT_EQ(report.uncounted_commands, 0u);
  EXPECT_EQ(report.value_count, report.values_of_query);
}

TEST_F(IntelTest, the_last_marker_before_the_end_of_a_query_is_part_of_its_result) {
  const Queries pool = make_pool(2);
  context().run([&](VkCommandBuffer commands) {
    pool.reset(commands);
    marker(commands, 1);
    pool.begin(commands, 0);
    marker(commands, 0x123456789abcdef0);
    stream_marker(commands, 77);
    pool.end(commands, 0);
    marker(commands, 3);
    pool.begin(commands, 1);
    pool.end(commands, 1);
  });
  TallyIntelReport report = read(pool, 0);
  EXPECT_EQ(report.marker, 0x123456789abcdef0u);
  EXPECT_EQ(report.stream_marker, 77u);
  EXPECT_EQ(report.flags, TALLY_INTEL_REPORT_HAS_MARKER | TALLY_INTEL_REPORT_HAS_STREAM_MARKER);
  report = read(pool, 1);
  EXPECT_EQ(report.marker, 3u) << "set before the query began";
}

TEST_F(IntelTest, a_marker_of_one_command_buffer_is_not_of_the_next) {
  const Queries pool = make_pool();
  context().run([&](VkCommandBuffer commands) { marker(commands, 5); });
  run(pool, [](VkCommandBuffer) {});
  EXPECT_EQ(read(pool).flags, 0u);
}

TEST_F(IntelTest, several_reports_are_read_at_once_and_short_ones_hold_what_fits) {
  const Queries pool = make_pool(2);
  const Pipeline pipeline = make_work();
  context().run([&](VkCommandBuffer commands) {
    pool.reset(commands);
    for (uint32_t query = 0; query < 2; ++query) {
      pool.begin(commands, query);
      dispatch(commands, pipeline, query + 1);
      pool.end(commands, query);
    }
  });
  constexpr size_t kStride = TALLY_INTEL_REPORT_BYTES, kShort = 256;
  std::vector<unsigned char> bytes(kStride + kShort + 16, 0xee);
  check(vkGetQueryPoolResults(context().device(), pool, 0, 2, kStride + kShort, bytes.data(),
                              kStride, VK_QUERY_RESULT_WAIT_BIT));
  TallyIntelReport first{}, second{};
  ASSERT_EQ(tally_intel_report_read(bytes.data(), kStride, &first), TALLY_INTEL_REPORT_OK);
  ASSERT_EQ(tally_intel_report_read(bytes.data() + kStride, kShort, &second),
            TALLY_INTEL_REPORT_OK);
  EXPECT_EQ(value(first, TALLY_INTEL_COMPUTE_SHADER_INVOCATIONS), 8u);
  EXPECT_EQ(value(second, TALLY_INTEL_DISPATCHES), 1u);
  EXPECT_EQ(second.value_count, (kShort - TALLY_INTEL_REPORT_HEADER_BYTES) / 16);
  EXPECT_EQ(second.values_of_query, first.value_count);
  EXPECT_TRUE(std::all_of(bytes.end() - 16, bytes.end(), [](auto byte) { return byte == 0xee; }));
}

TEST_F(IntelTest, a_query_that_has_not_run_is_not_ready) {
  const Queries pool = make_pool();
  std::vector<unsigned char> bytes(TALLY_INTEL_REPORT_BYTES, 0xee);
  EXPECT_EQ(vkGetQueryPoolResults(context().device(), pool, 0, 1, bytes.size(), bytes.data(),
                                  bytes.size(), 0),
            VK_NOT_READY);
  EXPECT_EQ(bytes[0], 0xee);
}

TEST_F(IntelTest, null_hardware_drops_dispatches_until_it_is_switched_off) {
  const Queries pool = make_pool();
  const Pipeline pipeline = make_work();
  run(pool, [&](VkCommandBuffer commands) {
    dispatch(commands, pipeline, 1);
    null_hardware(commands, true);
    dispatch(commands, pipeline, 2);
    null_hardware(commands, false);
    dispatch(commands, pipeline, 4);
  });
  const TallyIntelReport report = read(pool);
  EXPECT_EQ(value(report, TALLY_INTEL_DISPATCHES), 2u);
  EXPECT_EQ(value(report, TALLY_INTEL_COMPUTE_SHADER_INVOCATIONS), 40u);
}

TEST_F(IntelTest, null_hardware_draws_nothing_and_ends_with_its_command_buffer) {
  const RenderTarget target(context(), {.extent = {16, 16}});
  const Pipeline pipeline = make_graphics(
      {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}, {VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag}});
  const auto draw = [&](bool dropped) {
    context().run([&](VkCommandBuffer commands) {
      target.begin(commands, {0, 0, 0, 0});
      if (dropped) null_hardware(commands, true);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      target.set_viewport(commands);
      vkCmdDraw(commands, 3, 1, 0, 0);
      target.end(commands);
    });
    return target.read();
  };
  const auto nothing = draw(true);
  EXPECT_TRUE(std::ranges::all_of(nothing, [](uint32_t texel) { return texel == 0; }));
  EXPECT_NE(draw(false), nothing);
}

// No suitable barrier is legal in a render pass; the validation layer below would report one.
TEST_F(IntelTest, caches_are_flushed_outside_of_render_passes_and_inside_it_says_that_it_cannot) {
  constexpr auto kFlush = VK_PERFORMANCE_OVERRIDE_TYPE_FLUSH_GPU_CACHES_INTEL;
  const RenderTarget target(context(), {.extent = {16, 16}});
  context().run([&](VkCommandBuffer commands) { set_override(commands, kFlush, true); });
  EXPECT_THAT(ids_of_messages(), testing::Not(testing::Contains("TALLY-no-flush")));
  context().run([&](VkCommandBuffer commands) {
    target.begin(commands);
    set_override(commands, kFlush, true);
    target.end(commands);
  });
  EXPECT_THAT(ids_of_messages(), testing::Contains("TALLY-no-flush"));
}

// The validation layer below checks for hazards: one dispatch reads what another has written.
TEST_F(IntelTest, flushing_caches_waits_for_what_was_written) {
  if (!validation_wanted()) GTEST_SKIP() << "is seen by the validation layer alone";
  const auto synchronization = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  const VkValidationFeaturesEXT features{
      VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, nullptr, 1, &synchronization, 0, nullptr};
  TearDown();
  ContextOptions options;
  options.validation_next = &features;
  start_intel(options);
  const Buffer values(context(), 4096), copies(context(), 4096);
  const StorageSet set(context(), {values, copies});
  const PipelineLayout layout = make_pipeline_layout(context(), {{set.layout()}}, 4);
  const Pipeline writer =
      make_compute_pipeline(context(), {{VK_SHADER_STAGE_COMPUTE_BIT, work_shader()}, layout});
  const Pipeline reader =
      make_compute_pipeline(context(), {{VK_SHADER_STAGE_COMPUTE_BIT, reads_comp}, layout});
  const auto hazards = [&](bool flush) {
    context().run([&](VkCommandBuffer commands) {
      const uint32_t add = 1;
      set.bind(commands, layout);
      vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof add, &add);
      vkCmdBindPipeline(commands, kCompute, writer);
      vkCmdDispatch(commands, 1, 1, 1);
      if (flush) set_override(commands, VK_PERFORMANCE_OVERRIDE_TYPE_FLUSH_GPU_CACHES_INTEL, true);
      vkCmdBindPipeline(commands, kCompute, reader);
      vkCmdDispatch(commands, 1, 1, 1);
    });
    std::vector<std::string> ids;
    for (const Message& message : context().take_errors()) ids.push_back(message.id);
    return ids;
  };
  EXPECT_THAT(hazards(false), ElementsAre("SYNC-HAZARD-READ-AFTER-WRITE"));
  EXPECT_THAT(hazards(true), testing::IsEmpty());
}

}  // namespace
}  // namespace tally::test
