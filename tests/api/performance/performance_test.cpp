// VK_KHR_performance_query: what is offered, the profiling lock, and values in one and two passes.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "api/performance/performance_kit.h"
#include "catalogue/catalogue.h"

namespace tally::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A second device of this process.
class OtherDevice : public PerformanceTest {
 public:
  OtherDevice() { start_performance(); }
  void TestBody() override {}
  using PerformanceTest::context;
};

TEST_F(PerformanceTest, the_extension_its_features_and_properties_are_offered) {
  EXPECT_TRUE(context().has_extension(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME));
  VkPhysicalDeviceVulkan12Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDevicePerformanceQueryFeaturesKHR ours{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR, &core};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &ours};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  EXPECT_TRUE(ours.performanceCounterQueryPools);
  EXPECT_TRUE(ours.performanceCounterMultipleQueryPools);
  EXPECT_TRUE(core.bufferDeviceAddress) << "its neighbour";
  VkPhysicalDevicePerformanceQueryPropertiesKHR copies{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_PROPERTIES_KHR};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &copies};
  vkGetPhysicalDeviceProperties2(context().gpu(), &properties);
  EXPECT_TRUE(copies.allowCommandBufferQueryCopies);
}

TEST_F(PerformanceTest, counters_are_enumerated_with_either_array_or_both) {
  uint32_t count = 0;
  ASSERT_EQ(enumerate(&count, nullptr, nullptr), VK_SUCCESS);
  ASSERT_GE(count, 40u);
  std::vector<VkPerformanceCounterKHR> counters(count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR});
  std::vector<VkPerformanceCounterDescriptionKHR> descriptions(
      count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR});
  ASSERT_EQ(enumerate(&count, counters.data(), nullptr), VK_SUCCESS);
  ASSERT_EQ(enumerate(&count, nullptr, descriptions.data()), VK_SUCCESS);
  std::set<std::string> uuids, names;
  for (uint32_t i = 0; i < count; ++i) {
    uuids.insert({counters[i].uuid, counters[i].uuid + VK_UUID_SIZE});
    names.insert(descriptions[i].name);
    EXPECT_STRNE(descriptions[i].category, "");
    EXPECT_STRNE(descriptions[i].description, "");
    EXPECT_EQ(counters[i].sType, VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR);
  }
  EXPECT_EQ(uuids.size(), count);
  EXPECT_EQ(names.size(), count);
}

TEST_F(PerformanceTest, a_short_array_of_counters_gives_incomplete_and_no_more) {
  uint32_t count = 2;
  VkPerformanceCounterDescriptionKHR descriptions[3] = {};
  EXPECT_EQ(enumerate(&count, nullptr, descriptions), VK_INCOMPLETE);
  EXPECT_EQ(count, 2u);
  EXPECT_STRNE(descriptions[1].name, "");
  EXPECT_STREQ(descriptions[2].name, "");
}

TEST_F(PerformanceTest, a_queue_family_that_does_not_exist_has_no_counters) {
  uint32_t count = 7;
  EXPECT_EQ(enumerate(&count, nullptr, nullptr, 1000), VK_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST_F(PerformanceTest, passes_follow_from_the_counters) {
  EXPECT_EQ(passes({"gpu_time"}), 1u);
  EXPECT_EQ(passes({"draws", "instructions"}), 1u);
  EXPECT_EQ(passes({"gpu_time", "instructions"}), 2u);
  EXPECT_EQ(passes({"instruction_rate"}), 2u);
}

TEST_F(PerformanceTest, a_device_without_the_extension_has_no_lock_and_calls_the_driver) {
  const Context bare({.core_features = false});
  const Context layered({.layers = {"VK_LAYER_TALLY_counters"}, .core_features = false});
  EXPECT_EQ(vkGetDeviceProcAddr(layered.device(), "vkAcquireProfilingLockKHR"), nullptr);
  EXPECT_EQ(vkGetDeviceProcAddr(layered.device(), "vkCmdBeginQuery"),
            vkGetDeviceProcAddr(bare.device(), "vkCmdBeginQuery"));
}

// --- the profiling lock

TEST_F(PerformanceTest, the_lock_is_held_by_one_device_of_a_process_at_a_time) {
  OtherDevice other;
  EXPECT_EQ(lock(context(), 0), VK_SUCCESS);
  EXPECT_EQ(lock(other.context(), 0), VK_TIMEOUT);
  const auto begin = Clock::now();
  EXPECT_EQ(lock(other.context(), kShort), VK_TIMEOUT);
  EXPECT_GE(Clock::now() - begin, std::chrono::nanoseconds(kShort));
  unlock(context());
  EXPECT_EQ(lock(other.context(), 0), VK_SUCCESS);
  EXPECT_EQ(lock(context(), 0), VK_TIMEOUT);
}

TEST_F(PerformanceTest, an_infinite_timeout_waits_for_the_other_device) {
  OtherDevice other;
  ASSERT_EQ(lock(context(), 0), VK_SUCCESS);
  std::thread release([&] {
    std::this_thread::sleep_for(20ms);
    unlock(context());
  });
  EXPECT_EQ(lock(other.context(), UINT64_MAX), VK_SUCCESS);
  release.join();
}

TEST_F(PerformanceTest, a_device_that_is_destroyed_gives_the_lock_back) {
  {
    OtherDevice other;
    ASSERT_EQ(lock(other.context(), 0), VK_SUCCESS);
    EXPECT_EQ(lock(context(), 0), VK_TIMEOUT);
  }
  EXPECT_EQ(lock(context(), 0), VK_SUCCESS);
}

TEST_F(PerformanceTest, releasing_a_lock_that_is_not_held_is_misuse) {
  unlock(context());
  EXPECT_THAT(error_ids(), testing::ElementsAre("VUID-vkReleaseProfilingLockKHR-device-03235"));
}

// --- values

TEST_F(PerformanceTest, a_dispatch_is_counted) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, {"dispatches", "workgroups", "compute_shader_invocations",
                                  "shader_invocations", "draws", "pipeline_binds",
                                  "descriptor_binds", "constant_updates", "pipeline_barriers"});
  query.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 5); });
  EXPECT_EQ(query.number("dispatches"), 1u);
  EXPECT_EQ(query.number("workgroups"), 5u);
  EXPECT_EQ(query.number("compute_shader_invocations"), 40u);
  EXPECT_EQ(query.number("shader_invocations"), 40u);
  EXPECT_EQ(query.number("draws"), 0u);
  EXPECT_EQ(query.number("pipeline_binds"), 1u);
  EXPECT_EQ(query.number("descriptor_binds"), 1u);
  EXPECT_EQ(query.number("constant_updates"), 1u);
  EXPECT_EQ(query.number("pipeline_barriers"), 1u);
}

// Twice the work doubles the count of every class.
TEST_F(PerformanceTest, instruction_classes_are_those_of_the_work) {
  std::vector<std::string> ids;
  for (const catalogue::Counter* one : catalogue::counters_of(catalogue::Scope::Block)) {
    if (one->scopes.has(catalogue::Scope::Command)) ids.emplace_back(one->id);
  }
  const Pipeline pipeline = make_work();
  const Performance once(*this, ids), twice(*this, ids);
  once.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 3); });
  twice.run([&](VkCommandBuffer commands) {
    dispatch(commands, pipeline, 4);
    dispatch(commands, pipeline, 2);
  });
  EXPECT_GT(once.number("instructions"), 0u);
  for (const std::string& id : ids) EXPECT_EQ(twice.number(id), 2 * once.number(id)) << id;
}

TEST_F(PerformanceTest, a_draw_is_counted) {
  const RenderTarget target(context(), {.extent = {64, 32}});
  const Pipeline pipeline = make_triangles();
  const Performance query(*this,
                          {"draws", "vertices", "primitives", "vertex_shader_invocations",
                           "fragment_shader_invocations", "render_passes", "vertices_per_draw",
                           "fragments_per_draw", "pipeline_binds_per_draw"});
  query.run([&](VkCommandBuffer commands) {
    target.begin(commands, {0, 0, 0, 0});
    draw(commands, pipeline, target);
    draw(commands, pipeline, target);
    target.end(commands);
  });
  EXPECT_EQ(query.number("draws"), 2u);
  EXPECT_EQ(query.number("vertices"), 6u);
  EXPECT_EQ(query.number("primitives"), 2u);
  EXPECT_EQ(query.number("render_passes"), 1u);
  EXPECT_EQ(query.number("fragment_shader_invocations"), 2u * 64 * 32);
  EXPECT_EQ(query.real("vertices_per_draw"), 3.0);
  EXPECT_EQ(query.real("fragments_per_draw"), 64.0 * 32);
  EXPECT_EQ(query.real("pipeline_binds_per_draw"), 1.0);
}

TEST_F(PerformanceTest, active_lanes_are_a_percentage_of_the_subgroups_lanes) {
  if (!has_counter("compute_active_lanes")) GTEST_SKIP() << "no subgroup operations";
  const Pipeline pipeline = make_work();
  const Performance query(
      *this, {"compute_active_lanes", "compute_shader_invocations", "shader_subgroups"});
  query.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 5); });
  const double lanes =
      static_cast<double>(query.number("shader_subgroups")) * context().subgroup_size();
  EXPECT_FLOAT_EQ(static_cast<float>(query.real("compute_active_lanes")),
                  static_cast<float>(100 * 40 / lanes));
}

TEST_F(PerformanceTest, other_emulated_queries_are_available_after_any_pass) {
  start_performance({{"emulate_queries", "all"}});
  const Pipeline pipeline = make_work();
  const Performance performance(*this, {"gpu_time", "instructions"});
  const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                           VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  check(lock(context(), UINT64_MAX));
  performance.reset();
  const VkCommandBuffer commands = performance.record([&](VkCommandBuffer recorded) {
    statistics.reset(recorded);
    statistics.begin(recorded);
    dispatch(recorded, pipeline, 5);
    statistics.end(recorded);
  });
  performance.submit(commands, 0);
  EXPECT_EQ(statistics.read()[0], 40u);
  performance.submit(commands, 1);
  uint64_t number = 0;
  EXPECT_EQ(vkGetQueryPoolResults(context().device(), statistics, 0, 1, sizeof number, &number,
                                  sizeof number, VK_QUERY_RESULT_64_BIT),
            VK_SUCCESS);
  unlock(context());
}

TEST_F(PerformanceTest, counts_and_time_come_from_two_passes_of_the_same_command_buffer) {
  const Pipeline pipeline = make_work();
  const Performance query(
      *this, {"gpu_time", "gpu_ticks", "compute_shader_invocations", "invocation_rate"});
  ASSERT_EQ(query.passes(), 2u);
  query.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 64); });
  EXPECT_EQ(query.number("compute_shader_invocations"), 512u) << "counted in one of the passes";
  const auto ticks = static_cast<double>(query.number("gpu_ticks"));
  const double period = context().properties().limits.timestampPeriod;
  EXPECT_GT(ticks, 0);
  EXPECT_NEAR(static_cast<double>(query.number("gpu_time")), ticks * period, 1);
  EXPECT_NEAR(query.real("invocation_rate"), 512 * 1e9 / (ticks * period),
              512 * 1e9 / (ticks * period) * 1e-6);
}

TEST_F(PerformanceTest, a_query_of_a_secondary_command_buffer_has_both_passes) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, {"gpu_time", "compute_shader_invocations"});
  check(lock(device(), UINT64_MAX));
  query.reset();
  const VkCommandBuffer commands =
      query.record_in_secondary([&](VkCommandBuffer one) { dispatch(one, pipeline, 3); });
  query.submit(commands, 0);
  query.submit(commands, 1);
  check(query.results(VK_QUERY_RESULT_WAIT_BIT));
  unlock(device());
  EXPECT_EQ(query.number("compute_shader_invocations"), 24u);
  EXPECT_GT(query.number("gpu_time"), 0u);
  EXPECT_THAT(error_ids(), testing::IsEmpty());
}

TEST_F(PerformanceTest, arguments_in_a_buffer_count_as_they_were_when_they_were_read) {
  const Pipeline pipeline = make_work();
  const Buffer arguments(context(), 12,
                         VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  for (const bool secondary : {false, true}) {
    const Performance query(*this, {"workgroups", "compute_shader_invocations"});
    std::ranges::fill(arguments.as<uint32_t>(), 2);
    const auto work = [&](VkCommandBuffer commands) {
      dispatch_indirect(commands, pipeline, arguments, 0);
      vkCmdFillBuffer(commands, arguments, 0, 12, 3);
      full_barrier(commands);
    };
    check(lock(device(), UINT64_MAX));
    query.reset();
    query.submit(secondary ? query.record_in_secondary(work) : query.record(work), 0);
    check(query.results(VK_QUERY_RESULT_WAIT_BIT));
    unlock(device());
    EXPECT_EQ(query.number("compute_shader_invocations"), 8u * 8) << secondary;
    EXPECT_EQ(query.number("workgroups"), 8u) << secondary;
  }
  EXPECT_THAT(error_ids(), testing::IsEmpty());
}

TEST_F(PerformanceTest, a_query_in_a_pass_of_several_views_has_both_passes) {
  const RenderTarget target(context(), {.view_mask = 3});
  GraphicsPipelineInfo views;
  views.view_mask = 3;
  const Pipeline pipeline = make_triangles(views);
  const Performance query(*this, {"gpu_time", "fragment_shader_invocations"}, 2);
  check(lock(device(), UINT64_MAX));
  query.reset();
  const VkCommandBuffer commands = context().begin_commands(0);
  target.begin(commands);
  vkCmdBeginQuery(commands, query.pool(), 0, 0);
  draw(commands, pipeline, target);
  vkCmdEndQuery(commands, query.pool(), 0);
  target.end(commands);
  check(vkEndCommandBuffer(commands));
  query.submit(commands, 0);
  query.submit(commands, 1);
  check(query.results(VK_QUERY_RESULT_WAIT_BIT));
  unlock(device());
  EXPECT_EQ(query.number("fragment_shader_invocations"), 2u * 64 * 64);
  EXPECT_THAT(error_ids(), testing::IsEmpty());
}

TEST_F(PerformanceTest, both_ways_to_the_records_count_in_two_passes) {
  for (const char* way : {"auto", "push_constant", "descriptor"}) {
    start_performance({{"record_address", way}});
    const Pipeline pipeline = make_work();
    const Performance query(*this, {"gpu_time", "compute_shader_invocations"});
    for (const uint32_t groups : {3u, 5u}) {
      query.run([&](VkCommandBuffer commands) {
        dispatch(commands, pipeline, groups);
        dispatch(commands, pipeline, 1);
      });
      EXPECT_EQ(query.number("compute_shader_invocations"), 8 * (groups + 1)) << way;
      EXPECT_GT(query.number("gpu_time"), 0u) << way;
    }
  }
}

TEST_F(PerformanceTest, a_query_is_available_only_after_all_its_passes) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, {"gpu_time", "instructions"});
  ASSERT_EQ(lock(context(), 0), VK_SUCCESS);
  query.reset();
  const VkCommandBuffer commands =
      query.record([&](VkCommandBuffer one) { dispatch(one, pipeline, 1); });
  EXPECT_EQ(query.results(0), VK_NOT_READY);
  query.submit(commands, 1);
  EXPECT_EQ(query.results(0), VK_NOT_READY);
  query.submit(commands, 0);
  EXPECT_EQ(query.results(0), VK_SUCCESS);
  query.reset();
  EXPECT_EQ(query.results(0), VK_NOT_READY) << "a reset is of all passes";
  unlock(context());
}

TEST_F(PerformanceTest, both_forms_of_submission_take_the_pass) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, {"gpu_time", "compute_shader_invocations"});
  ASSERT_EQ(lock(context(), 0), VK_SUCCESS);
  query.reset();
  const VkCommandBuffer commands =
      query.record([&](VkCommandBuffer one) { dispatch(one, pipeline, 2); });
  query.submit2(commands, 0);
  query.submit2(commands, 1);
  EXPECT_EQ(query.results(0), VK_SUCCESS);
  EXPECT_EQ(query.number("compute_shader_invocations"), 16u);
  unlock(context());
}

TEST_F(PerformanceTest, results_are_copied_on_the_gpu_as_the_host_reads_them) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, {"compute_shader_invocations", "render_passes", "dispatches",
                                  "instructions_per_invocation", "gpu_ticks", "instruction_rate"});
  query.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 7); });
  const auto copied = query.copy();
  for (size_t i = 0; i < copied.size(); ++i) {
    if (query.is_real(i)) {
      EXPECT_NEAR(query.real_of(i, copied[i]), query.real_of(i, query.value(i)),
                  query.real_of(i, query.value(i)) * 1e-6)
          << i;
    } else {
      EXPECT_EQ(query.number_of(i, copied[i]), query.number_of(i, query.value(i))) << i;
    }
  }
}

TEST_F(PerformanceTest, two_pools_count_in_one_command_buffer) {
  const Pipeline pipeline = make_work();
  const Performance outer(*this, {"dispatches"}), inner(*this, {"dispatches", "workgroups"});
  ASSERT_EQ(lock(context(), 0), VK_SUCCESS);
  outer.reset();
  inner.reset();
  context().run([&](VkCommandBuffer commands) {
    vkCmdBeginQuery(commands, outer.pool(), 0, 0);
    dispatch(commands, pipeline, 1);
    vkCmdBeginQuery(commands, inner.pool(), 0, 0);
    dispatch(commands, pipeline, 2);
    vkCmdEndQuery(commands, inner.pool(), 0);
    dispatch(commands, pipeline, 3);
    vkCmdEndQuery(commands, outer.pool(), 0);
  });
  unlock(context());
  EXPECT_EQ(outer.results(VK_QUERY_RESULT_WAIT_BIT), VK_SUCCESS);
  EXPECT_EQ(inner.results(VK_QUERY_RESULT_WAIT_BIT), VK_SUCCESS);
  EXPECT_EQ(outer.number("dispatches"), 3u);
  EXPECT_EQ(inner.number("dispatches"), 1u);
  EXPECT_EQ(inner.number("workgroups"), 2u);
}

TEST_F(PerformanceTest, an_index_that_is_no_counters_is_misuse) {
  const uint32_t index = 100'000;
  const VkQueryPoolPerformanceCreateInfoKHR ours{
      VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR, nullptr, context().queue_family(),
      1, &index};
  const VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, &ours, 0,
                                   VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR, 1};
  VkQueryPool pool = VK_NULL_HANDLE;
  EXPECT_NE(vkCreateQueryPool(context().device(), &info, nullptr, &pool), VK_SUCCESS);
  EXPECT_THAT(error_ids(), testing::ElementsAre(
                               "VUID-VkQueryPoolPerformanceCreateInfoKHR-pCounterIndices-03321"));
}

}  // namespace
}  // namespace tally::test
