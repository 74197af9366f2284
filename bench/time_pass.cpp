// The GPU time that a performance query of time and counts takes in its second pass, relative to a
// query of time alone, according to the queries' own GPU-time counters. The layer cannot use its
// own conditional rendering inside the application's, so there the counting pipelines run in both
// passes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "catalogue/catalogue.h"
#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "kernels.h"

namespace tally::bench {
namespace {

constexpr VkQueryType kPerformance = VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR;

// A device with the profiling lock acquired.
class Profiled {
 public:
  Profiled() : context_(options()) {
    const VkAcquireProfilingLockInfoKHR info{VK_STRUCTURE_TYPE_ACQUIRE_PROFILING_LOCK_INFO_KHR,
                                             nullptr, 0, UINT64_MAX};
    test::check(context_.function<PFN_vkAcquireProfilingLockKHR>("vkAcquireProfilingLockKHR")(
        context_.device(), &info));
  }
  test::Context& context() { return context_; }
  static bool has_conditions() {
    return test::Context().has_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME);
  }

  uint32_t index_of(std::string_view id) {
    const auto enumerate =
        reinterpret_cast<PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR>(
            vkGetInstanceProcAddr(
                context_.instance(),
                "vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR"));
    uint32_t count = 0;
    test::check(enumerate(context_.gpu(), context_.queue_family(), &count, nullptr, nullptr));
    std::vector<VkPerformanceCounterDescriptionKHR> all(
        count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR});
    test::check(enumerate(context_.gpu(), context_.queue_family(), &count, nullptr, all.data()));
    const auto found = std::ranges::find_if(
        all, [&](const auto& one) { return catalogue::find(id)->name == one.name; });
    if (found == all.end()) throw std::runtime_error("no counter " + std::string(id));
    return static_cast<uint32_t>(found - all.begin());
  }

 private:
  static test::ContextOptions options() {
    static VkPhysicalDeviceConditionalRenderingFeaturesEXT conditions{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT, nullptr, VK_TRUE};
    static VkPhysicalDevicePerformanceQueryFeaturesKHR queries{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR, nullptr, VK_TRUE,
        VK_TRUE};
    test::ContextOptions options;
    options.layers = {"VK_LAYER_TALLY_counters"};
    options.device_extensions = {VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME};
    if (has_conditions()) {
      options.device_extensions.push_back(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME);
      queries.pNext = &conditions;
    }
    options.device_next = &queries;
    return options;
  }

  test::Context context_;
};

// A command buffer with one query around a kernel's units.
class Query {
 public:
  Query(Profiled& device, const Kernel& kernel, VkPipeline pipeline, uint32_t units, bool counts,
        bool conditioned)
      : context_(device.context()), counts_(counts) {
    std::vector<uint32_t> indices{device.index_of("gpu_time")};
    if (counts) indices.push_back(device.index_of("instructions"));
    const VkQueryPoolPerformanceCreateInfoKHR ours{
        VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR, nullptr, context_.queue_family(),
        static_cast<uint32_t>(indices.size()), indices.data()};
    const VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, &ours, 0,
                                     kPerformance, 1};
    VkQueryPool pool = VK_NULL_HANDLE;
    test::check(vkCreateQueryPool(context_.device(), &info, nullptr, &pool));
    pool_ = {context_.device(), pool};
    if (conditioned) condition_.emplace(context_, 4, VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT);
    record(kernel, pipeline, units);
  }

  // Nanoseconds according to the query's own counter.
  double time() {
    vkResetQueryPool(context_.device(), pool_, 0, 1);
    for (uint32_t pass = 0; pass < (counts_ ? 2u : 1u); ++pass) submit(pass);
    VkPerformanceCounterResultKHR results[2];
    test::check(vkGetQueryPoolResults(context_.device(), pool_, 0, 1, sizeof results, results,
                                      sizeof results, VK_QUERY_RESULT_WAIT_BIT));
    return static_cast<double>(results[0].uint64);
  }

 private:
  void record(const Kernel& kernel, VkPipeline pipeline, uint32_t units) {
    commands_ = context_.begin_commands(0);
    vkCmdBeginQuery(commands_, pool_, 0, 0);
    if (condition_) {
      condition_->as<uint32_t>()[0] = 1;
      const VkConditionalRenderingBeginInfoEXT always{
          VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT, nullptr, *condition_, 0, 0};
      context_.function<PFN_vkCmdBeginConditionalRenderingEXT>("vkCmdBeginConditionalRenderingEXT")(
          commands_, &always);
    }
    kernel.begin(commands_, pipeline);
    for (uint32_t i = 0; i < units; ++i) kernel.add_unit(commands_);
    kernel.end(commands_);
    if (condition_) {
      context_.function<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT")(
          commands_);
    }
    vkCmdEndQuery(commands_, pool_, 0);
    test::check(vkEndCommandBuffer(commands_));
  }
  void submit(uint32_t pass) const {
    const VkPerformanceQuerySubmitInfoKHR ours{VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR,
                                               nullptr, pass};
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO, &ours};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_;
    test::check(vkQueueSubmit(context_.queue(), 1, &info, VK_NULL_HANDLE));
    test::check(vkQueueWaitIdle(context_.queue()));
  }

  test::Context& context_;
  bool counts_;
  test::QueryPool pool_;
  std::optional<test::Buffer> condition_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

void print_kernel(Profiled& device, const Kernel& kernel, uint32_t units, int rounds) {
  std::vector<test::Stage> stages;
  for (const ShaderSource& source : kernel.sources()) {
    stages.push_back({source.stage, source.words});
  }
  const test::Pipeline pipeline = kernel.make_pipeline(stages, 0);
  std::vector<std::unique_ptr<Query>> queries;
  std::vector<Candidate> candidates;
  const auto add = [&](const char* name, bool counts, bool conditioned) {
    Query& query = *queries.emplace_back(
        std::make_unique<Query>(device, kernel, pipeline, units, counts, conditioned));
    candidates.push_back({name, [&query] { return Sample{query.time()}; }});
  };
  add("time alone", false, false);
  add("time and counts", true, false);
  if (Profiled::has_conditions()) add("the same, in a condition", true, true);
  Table table({fmt::format("{}, {}", kernel.name(), units), "GPU time", "of time alone"});
  for (const Measured& row : measure_in_turn(candidates, rounds)) {
    table.add({row.name, duration(row.values[0].median), with_quartiles(row.ratios[0])});
  }
  fmt::print("{}\n", table.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  using namespace tally::bench;
  CLI::App app("The time pass of a performance query");
  int rounds = 9;
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return run_program([&] {
    Profiled device;
    const Capabilities capabilities(device.context().gpu());
    print_device(capabilities);
    print_kernel(device, *make_hot_loop(device.context(), capabilities), 4, rounds);
    print_kernel(device, *make_memory_bound(device.context(), capabilities), 4, rounds);
    print_kernel(device, *make_fragment_heavy(device.context(), capabilities), 1, rounds);
    print_kernel(device, *make_tiny_draws(device.context()), 1000, rounds);
  });
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
