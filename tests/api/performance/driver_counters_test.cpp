// VK_KHR_performance_query on a driver that supports it itself (driver/layer.cpp): its counters
// come first, the layer's follow, and a query may use both.
#include <algorithm>
#include <chrono>
#include <string>

#include "api/performance/performance_kit.h"
#include "stand_in/performance/answers.h"

namespace tally::test {
namespace {

using Ids = std::vector<std::string>;
using testing::AnyOf;
using testing::Each;

// The validation layer below reports this for a reset in any command buffer of the same call, since
// it keeps what it knows of queries for all of the call. The driver does not run a query that its
// own command buffer resets (driver/queries.cpp).
constexpr auto kResetInSameCall = "VUID-vkCmdBeginQuery-None-02863";

ContextOptions with_driver() {
  ContextOptions options;
  options.driver_layers.push_back("VK_LAYER_TALLY_test_performance_driver");
  return options;
}

class DriverCountersTest : public PerformanceTest {
 protected:
  void SetUp() override { start_performance({}, with_driver()); }

  Ids names() {
    std::vector<VkPerformanceCounterDescriptionKHR> descriptions(
        counters().size(), {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR});
    auto count = static_cast<uint32_t>(descriptions.size());
    check(enumerate(&count, nullptr, descriptions.data()));
    Ids names;
    for (const auto& description : descriptions) names.emplace_back(description.name);
    return names;
  }

  // Both kinds, all passes of the driver, counts and time.
  const Ids all_ = {"driver.clock",   "compute_shader_invocations",
                    "gpu_time",       "driver.dispatches",
                    "dispatches",     "driver.runs",
                    "driver.current", "driver.temperature",
                    "workgroups"};
  void expect_all(const Performance& query, uint32_t dispatches, uint32_t groups) {
    EXPECT_EQ(query.real("driver.clock"), performance::kClockRead);
    EXPECT_EQ(query.number("compute_shader_invocations"), 8 * groups);
    EXPECT_GT(query.number("gpu_time"), 0u);
    EXPECT_EQ(query.number("driver.dispatches"), dispatches) << "and none of the layer's own";
    EXPECT_EQ(query.number("dispatches"), dispatches);
    EXPECT_EQ(query.number("driver.runs"), 1u) << "without a reset each pass runs once";
    EXPECT_EQ(static_cast<int32_t>(query.number("driver.current")), performance::kCurrentRead);
    EXPECT_EQ(query.real("driver.temperature"), performance::kTemperatureRead);
    EXPECT_EQ(query.number("workgroups"), groups);
  }
};

TEST_F(DriverCountersTest, its_counters_come_first_under_its_uuids_and_ours_follow) {
  const std::vector<VkPerformanceCounterKHR> both = counters();
  const Ids both_names = names();
  for (uint32_t i = 0; i < performance::kCounters; ++i) {
    EXPECT_EQ(both_names[i], performance::kAll[i].name);
    EXPECT_EQ(both[i].unit, performance::kAll[i].unit);
    EXPECT_EQ(both[i].scope, performance::kAll[i].scope);
    EXPECT_EQ(both[i].storage, performance::kAll[i].storage);
    EXPECT_THAT(both[i].uuid, Each(i + 1));
  }
  start_performance();
  const Ids ours = names();
  EXPECT_EQ(Ids(both_names.begin() + performance::kCounters, both_names.end()), ours);
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(both[performance::kCounters + i].uuid, counters()[i].uuid));
  }
}

TEST_F(DriverCountersTest, short_arrays_get_what_fits_of_both) {
  for (const uint32_t capacity :
       {0u, 4u, uint32_t{performance::kCounters}, performance::kCounters + 2u}) {
    std::vector<VkPerformanceCounterDescriptionKHR> descriptions(
        capacity + 1, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR});
    uint32_t count = capacity;
    EXPECT_EQ(enumerate(&count, nullptr, descriptions.data()), VK_INCOMPLETE);
    EXPECT_EQ(count, capacity);
    for (uint32_t i = 0; i < capacity; ++i) EXPECT_STRNE(descriptions[i].name, "") << i;
    EXPECT_STREQ(descriptions[capacity].name, "");
  }
  auto count = static_cast<uint32_t>(counters().size()) + 5;
  std::vector<VkPerformanceCounterKHR> more(count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR});
  EXPECT_EQ(enumerate(&count, more.data(), nullptr), VK_SUCCESS);
  EXPECT_EQ(count, counters().size());
}

TEST_F(DriverCountersTest, the_extension_is_listed_once_with_the_drivers_features) {
  VkPhysicalDevicePerformanceQueryFeaturesKHR ours{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &ours};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  EXPECT_TRUE(ours.performanceCounterQueryPools);
  EXPECT_FALSE(ours.performanceCounterMultipleQueryPools);
  uint32_t count = 0;
  check(vkEnumerateDeviceExtensionProperties(context().gpu(), nullptr, &count, nullptr));
  std::vector<VkExtensionProperties> extensions(count);
  check(vkEnumerateDeviceExtensionProperties(context().gpu(), nullptr, &count, extensions.data()));
  EXPECT_EQ(std::ranges::count(extensions, std::string(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME),
                               [](const auto& one) { return std::string(one.extensionName); }),
            1);
}

// The driver's passes, plus one if shaders count.
TEST_F(DriverCountersTest, passes_follow_from_the_counters_of_both) {
  EXPECT_EQ(passes({"driver.dispatches", "driver.temperature"}), 1u);
  EXPECT_EQ(passes({"driver.dispatches", "driver.clock"}), 2u);
  EXPECT_EQ(passes({"gpu_time", "draws"}), 1u);
  EXPECT_EQ(passes({"gpu_time", "instructions"}), 2u);
  EXPECT_EQ(passes({"driver.clock", "draws", "gpu_time"}), 1u);
  EXPECT_EQ(passes({"driver.clock", "instructions"}), 2u);
  EXPECT_EQ(passes({"driver.clock", "instructions", "gpu_time"}), 2u);
  EXPECT_EQ(passes({"driver.clock", "driver.dispatches", "draws"}), 2u);
  EXPECT_EQ(passes(all_), 3u);
}

TEST_F(DriverCountersTest, a_query_of_its_counters_alone_is_the_drivers) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, {"driver.runs", "driver.dispatches"});
  query.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 2); });
  EXPECT_EQ(query.number("driver.runs"), 1u);
  EXPECT_EQ(query.number("driver.dispatches"), 1u);
}

TEST_F(DriverCountersTest, a_query_of_ours_alone_counts_as_ever) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, {"gpu_time", "compute_shader_invocations"});
  query.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 3); });
  EXPECT_EQ(query.number("compute_shader_invocations"), 24u);
  EXPECT_GT(query.number("gpu_time"), 0u);
}

TEST_F(DriverCountersTest, a_query_of_both_is_right_in_whatever_order_its_passes_are_submitted) {
  const Pipeline pipeline = make_work();
  std::vector<uint32_t> order = {0, 1, 2};
  do {
    const Performance query(*this, all_);
    check(lock(context(), UINT64_MAX));
    query.reset();
    const VkCommandBuffer commands = query.record([&](VkCommandBuffer recorded) {
      dispatch(recorded, pipeline, 5);
      dispatch(recorded, pipeline, 1);
    });
    for (const uint32_t pass : order) {
      EXPECT_EQ(query.results(0), VK_NOT_READY);
      query.submit(commands, pass);
    }
    ASSERT_EQ(query.results(0), VK_SUCCESS);
    expect_all(query, 2, 6);
    unlock(context());
  } while (std::ranges::next_permutation(order).found);
  EXPECT_THAT(error_ids(), Each(kResetInSameCall));
}

TEST_F(DriverCountersTest, both_forms_of_submission_take_the_pass) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, all_);
  check(lock(context(), UINT64_MAX));
  query.reset();
  const VkCommandBuffer commands =
      query.record([&](VkCommandBuffer recorded) { dispatch(recorded, pipeline, 2); });
  for (uint32_t pass = 0; pass < query.passes(); ++pass) query.submit2(commands, pass);
  ASSERT_EQ(query.results(VK_QUERY_RESULT_WAIT_BIT), VK_SUCCESS);
  expect_all(query, 1, 2);
  unlock(context());
  EXPECT_THAT(error_ids(), Each(kResetInSameCall));
}

TEST_F(DriverCountersTest, results_are_copied_in_the_order_of_the_counters) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, all_);
  query.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 7); });
  const auto copied = query.copy();
  ASSERT_EQ(copied.size(), all_.size());
  for (size_t i = 0; i < copied.size(); ++i) {
    if (query.is_real(i)) {
      EXPECT_EQ(query.real_of(i, copied[i]), query.real_of(i, query.value(i))) << all_[i];
    } else if (all_[i] != "gpu_time") {
      EXPECT_EQ(query.number_of(i, copied[i]), query.number_of(i, query.value(i))) << all_[i];
    }
  }
  EXPECT_THAT(error_ids(), Each(kResetInSameCall));
}

// The validation layer below tracks a GPU reset only for the pass of its own submission.
TEST_F(DriverCountersTest, a_reset_on_the_gpu_is_of_both) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, all_);
  query.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 7); });
  context().run(
      [&](VkCommandBuffer commands) { vkCmdResetQueryPool(commands, query.pool(), 0, 1); });
  EXPECT_EQ(query.results(0), VK_NOT_READY);
  check(lock(context(), UINT64_MAX));
  const VkCommandBuffer commands =
      query.record([&](VkCommandBuffer recorded) { dispatch(recorded, pipeline, 4); });
  for (uint32_t pass = 0; pass < query.passes(); ++pass) query.submit(commands, pass);
  ASSERT_EQ(query.results(VK_QUERY_RESULT_WAIT_BIT), VK_SUCCESS);
  expect_all(query, 1, 4);
  EXPECT_THAT(error_ids(),
              Each(AnyOf(kResetInSameCall, "UNASSIGNED-CoreValidation-DrawState-QueryNotReset")));
  unlock(context());
}

// The driver's query must be the first and last command, otherwise it reads 0. The validation layer
// below always reports this, because it takes the index of the end command before it has counted
// that command.
TEST_F(DriverCountersTest, a_query_of_a_whole_command_buffer_is_all_of_it) {
  const Pipeline pipeline = make_work();
  const Performance query(*this, {"driver.whole", "compute_shader_invocations", "gpu_time"});
  ASSERT_EQ(query.passes(), 2u);
  query.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 9); });
  EXPECT_EQ(static_cast<int64_t>(query.number("driver.whole")), performance::kWholeRead);
  EXPECT_THAT(error_ids(), Each(AnyOf(kResetInSameCall, "VUID-vkCmdEndQuery-queryPool-03227")));
  EXPECT_EQ(query.number("compute_shader_invocations"), 72u);
  EXPECT_GT(query.number("gpu_time"), 0u);
}

TEST_F(DriverCountersTest, both_locks_are_had_or_neither) {
  ContextOptions options = with_driver();
  VkPhysicalDevicePerformanceQueryFeaturesKHR features{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR, nullptr, VK_TRUE};
  options.device_extensions.push_back(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
  options.device_next = &features;
  const Context bare(options);
  options.driver_layers.clear();
  options.layers.push_back("VK_LAYER_TALLY_counters");
  const Context ours(options);

  check(lock(bare, 0));
  EXPECT_EQ(lock(context(), 0), VK_TIMEOUT);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(lock(context(), kShort), VK_TIMEOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(kShort));
  EXPECT_EQ(lock(ours, 0), VK_SUCCESS) << "the layer's was given back";
  unlock(bare);
  EXPECT_EQ(lock(context(), 0), VK_TIMEOUT);
  EXPECT_EQ(lock(bare, 0), VK_SUCCESS) << "the driver's was not taken";
  unlock(bare);
  unlock(ours);
  EXPECT_EQ(lock(context(), UINT64_MAX), VK_SUCCESS);
  EXPECT_EQ(lock(bare, 0), VK_TIMEOUT);
  EXPECT_EQ(lock(ours, 0), VK_TIMEOUT);
  unlock(context());
  EXPECT_EQ(lock(bare, 0), VK_SUCCESS);
  EXPECT_EQ(lock(ours, 0), VK_SUCCESS);
}

}  // namespace
}  // namespace tally::test
