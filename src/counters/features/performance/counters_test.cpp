#include "counters/features/performance/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>

#include "catalogue/catalogue.h"

namespace tally::counters {
namespace {

using Kind = QuerySource::Kind;

class PerformanceCounters : public testing::Test {
 protected:
  static constexpr uint32_t kUniversal = 0, kCompute = 1, kTransfer = 2, kUntimed = 3;

  PerformanceCounters() {
    gpu_.api_version = VK_API_VERSION_1_3;
    gpu_.subgroup_size = 8;
    gpu_.subgroup_stages = VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT;
    gpu_.geometry_shader = gpu_.tessellation_shader = true;
    gpu_.properties.limits.timestampPeriod = 2;
    constexpr VkQueueFlags kAll =
        VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    gpu_.queue_families = {{kAll, 1, 64, {}},
                           {VK_QUEUE_COMPUTE_BIT, 1, 36, {}},
                           {VK_QUEUE_TRANSFER_BIT, 1, 64, {}},
                           {kAll, 1, 0, {}}};
  }

  std::vector<PerformanceCounter> all(uint32_t family = kUniversal) const {
    return performance_counters(gpu_, family, options_);
  }
  static std::vector<std::string_view> ids(const std::vector<PerformanceCounter>& counters) {
    std::vector<std::string_view> ids;
    for (const PerformanceCounter& one : counters) ids.push_back(one.counter->id);
    return ids;
  }
  static uint32_t index_of(const std::vector<PerformanceCounter>& counters, std::string_view id) {
    const auto names = ids(counters);
    const auto found = std::ranges::find(names, id);
    EXPECT_NE(found, names.end()) << id;
    return static_cast<uint32_t>(found - names.begin());
  }
  PerformanceQuery plan(std::initializer_list<std::string_view> wanted) const {
    const auto counters = all();
    std::vector<uint32_t> indices;
    for (const std::string_view id : wanted) indices.push_back(index_of(counters, id));
    return plan_performance_query(counters, indices).value();
  }

  PhysicalDevice gpu_;
  Options options_;
};

TEST_F(PerformanceCounters, are_more_than_forty_of_every_scope_and_storage_and_seven_units) {
  std::set<VkPerformanceCounterScopeKHR> scopes;
  std::set<catalogue::Storage> storages;
  std::set<catalogue::Unit> units;
  const auto counters = all();
  for (const PerformanceCounter& one : counters) {
    scopes.insert(one.scope);
    storages.insert(one.counter->storage);
    units.insert(one.counter->unit);
  }
  EXPECT_GE(counters.size(), 40u);
  EXPECT_EQ(scopes.size(), 3u);
  EXPECT_EQ(storages.size(), 6u);
  EXPECT_EQ(units.size(), 7u);
}

TEST_F(PerformanceCounters, every_counter_of_these_scopes_in_the_catalogue_can_be_had) {
  const char* extensions[] = {VK_EXT_MESH_SHADER_EXTENSION_NAME,
                              VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME};
  for (const char* name : extensions) {
    VkExtensionProperties& extension = gpu_.extensions.emplace_back();
    std::strncpy(extension.extensionName, name, sizeof extension.extensionName - 1);
  }
  std::set<std::string_view> wanted;
  for (const catalogue::Scope scope :
       {catalogue::Scope::Command, catalogue::Scope::RenderPass, catalogue::Scope::CommandBuffer}) {
    for (const catalogue::Counter* one : catalogue::counters_of(scope)) wanted.insert(one->id);
  }
  const auto names = ids(all());
  EXPECT_EQ(std::set(names.begin(), names.end()), wanted);
  EXPECT_EQ(names.size(), wanted.size()) << "one is listed twice";
}

TEST_F(PerformanceCounters, those_of_command_buffer_scope_are_listed_last) {
  const auto counters = all();
  EXPECT_TRUE(std::ranges::is_sorted(counters, [](const auto& a, const auto& b) {
    const auto wide = VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR;
    return a.scope != wide && b.scope == wide;
  }));
  EXPECT_EQ(counters.back().scope, VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR);
}

TEST_F(PerformanceCounters, a_family_has_only_what_it_can_run) {
  const auto compute = ids(all(kCompute));
  for (const std::string_view present :
       {"dispatches", "gpu_time", "fma", "compute_shader_invocations", "active_lanes"}) {
    EXPECT_THAT(compute, testing::Contains(present));
  }
  for (const std::string_view absent :
       {"draws", "vertex_shader_invocations", "render_passes", "fragments_per_draw",
        "sample_coverage", "fragment_active_lanes"}) {
    EXPECT_THAT(compute, testing::Not(testing::Contains(absent)));
  }
  EXPECT_TRUE(all(kTransfer).empty()) << "results need compute shaders";
  EXPECT_TRUE(all(1000).empty());
}

TEST_F(PerformanceCounters, without_timestamps_there_is_no_time) {
  for (const PerformanceCounter& one : all(kUntimed)) {
    for (const QueryRow* row : {&one.row, &one.divisor}) {
      for (const QuerySource& source : *row) EXPECT_NE(source.kind, Kind::Time) << one.counter->id;
    }
  }
  EXPECT_GE(all(kUntimed).size(), 40u);
}

TEST_F(PerformanceCounters, stages_that_the_device_lacks_have_none) {
  gpu_.geometry_shader = gpu_.tessellation_shader = false;
  const auto names = ids(all());
  for (const std::string_view absent :
       {"geometry_shader_invocations", "patches", "tessellation_control_shader_invocations",
        "mesh_workgroups", "task_shader_invocations", "ray_traces"}) {
    EXPECT_THAT(names, testing::Not(testing::Contains(absent)));
  }
}

TEST_F(PerformanceCounters, active_lanes_are_of_the_stages_with_subgroup_operations) {
  const auto counters = all();
  const PerformanceCounter& lanes = counters[index_of(counters, "active_lanes")];
  EXPECT_EQ(lanes.row.at(0).stages, gpu_.subgroup_stages);
  EXPECT_EQ(lanes.divisor.at(0).stages, gpu_.subgroup_stages);
  EXPECT_EQ(lanes.divisor.at(0).kind, Kind::Subgroups);
  EXPECT_EQ(lanes.scale, 12.5f);
  options_.count_subgroups = false;
  EXPECT_THAT(ids(all()), testing::Not(testing::Contains("active_lanes")));
  EXPECT_THAT(ids(all()), testing::Not(testing::Contains("shader_subgroups")));
}

TEST_F(PerformanceCounters, uuids_are_unique_and_those_of_the_first_release) {
  std::set<std::array<uint8_t, VK_UUID_SIZE>> uuids;
  for (const PerformanceCounter& one : all()) {
    VkPerformanceCounterKHR described{};
    describe(one, described);
    uuids.insert(std::to_array(described.uuid));
    EXPECT_EQ(described.uuid[6] >> 4, 8) << "version";
    EXPECT_EQ(described.uuid[8] >> 6, 2) << "variant";
  }
  EXPECT_EQ(uuids.size(), all().size());
  const auto counters = all();
  VkPerformanceCounterKHR draws{};
  describe(counters[index_of(counters, "draws")], draws);
  EXPECT_THAT(draws.uuid, testing::ElementsAre(0xd8, 0x01, 0x67, 0xee, 0x99, 0xb1, 0x8f, 0xe1, 0x9f,
                                               0x46, 0x0c, 0x70, 0xd5, 0x7f, 0xae, 0x32));
}

TEST_F(PerformanceCounters, descriptions_leave_type_and_chain_alone_and_say_what_it_costs) {
  const auto counters = all();
  const auto description = [&](std::string_view id) {
    VkPerformanceCounterDescriptionKHR target{VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR,
                                              &gpu_};
    target.flags = ~0u;
    describe(counters[index_of(counters, id)], target);
    EXPECT_EQ(target.sType, VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR);
    EXPECT_EQ(target.pNext, &gpu_);
    return target;
  };
  constexpr auto kImpacting = VK_PERFORMANCE_COUNTER_DESCRIPTION_PERFORMANCE_IMPACTING_BIT_KHR;
  constexpr auto kImpacted = VK_PERFORMANCE_COUNTER_DESCRIPTION_CONCURRENTLY_IMPACTED_BIT_KHR;
  EXPECT_STREQ(description("gpu_time").name, "GPU time");
  EXPECT_STREQ(description("gpu_time").category, "Time");
  EXPECT_STRNE(description("gpu_time").description, "");
  EXPECT_EQ(description("gpu_time").flags, kImpacted);
  EXPECT_EQ(description("draws").flags, 0u);
  EXPECT_EQ(description("fma").flags, kImpacting);
  EXPECT_EQ(description("buffer_load_rate").flags, kImpacting | kImpacted);
}

TEST_F(PerformanceCounters, results_stand_in_the_order_of_the_indices_and_share_rows) {
  const PerformanceQuery query =
      plan({"fma", "control_flow_share", "instructions", "fma", "control_flow"});
  EXPECT_EQ(query.rows.size(), 3u);
  ASSERT_EQ(query.results.size(), 5u);
  EXPECT_EQ(query.results[0].row, query.results[3].row);
  EXPECT_EQ(query.results[1].row, query.results[4].row);
  EXPECT_EQ(query.results[1].divisor, query.results[2].row);
  EXPECT_EQ(query.results[1].storage, VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR);
  EXPECT_EQ(query.results[1].scale, 100.0f);
  EXPECT_EQ(query.results[2].storage, VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR);
  EXPECT_FALSE(query.results[2].divisor);
}

TEST_F(PerformanceCounters, time_is_in_nanoseconds_and_rates_are_by_the_second) {
  EXPECT_EQ(plan({"gpu_time"}).results[0].scale, 2.0f);
  EXPECT_EQ(plan({"gpu_ticks"}).results[0].scale, 1.0f);
  EXPECT_EQ(plan({"invocation_rate"}).results[0].scale, 5e8f);
}

TEST_F(PerformanceCounters, counting_shaders_and_time_need_two_passes) {
  EXPECT_EQ(plan({"gpu_time", "gpu_ticks", "command_buffer_time"}).passes, 1u);
  EXPECT_EQ(plan({"fma", "draws"}).passes, 1u);
  EXPECT_EQ(plan({"gpu_time", "draws"}).passes, 1u) << "no shader counts";
  EXPECT_EQ(plan({"gpu_time", "fma"}).passes, 2u);
  EXPECT_EQ(plan({"instruction_rate"}).passes, 2u);
  EXPECT_EQ(plan({"instruction_rate"}).count_pass(), 0u);
  EXPECT_EQ(plan({"instruction_rate"}).time_pass(), 1u);
}

TEST_F(PerformanceCounters, an_index_out_of_range_gives_no_plan) {
  const auto counters = all();
  const auto end = static_cast<uint32_t>(counters.size());
  EXPECT_FALSE(plan_performance_query(counters, std::array{0u, end}));
  EXPECT_TRUE(plan_performance_query(counters, std::array{0u, end - 1}));
}

}  // namespace
}  // namespace tally::counters
