// Shared by the tests of performance queries: a device with VK_KHR_performance_query, counters by
// their id in the catalogue, and queries of one command buffer in as many passes as they need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/queries/kit.h"

namespace tally::test {

// A time to wait for the profiling lock, in nanoseconds.
inline constexpr uint64_t kShort = 30'000'000;

VkResult lock(const Context& context, uint64_t timeout);
void unlock(const Context& context);

class PerformanceTest : public QueriesTest {
 public:
  // The index of a counter of the catalogue, or of the test driver as "driver.<name>". Throws if
  // there is none.
  uint32_t counter_index(std::string_view id);
  bool has_counter(std::string_view id);
  const std::vector<VkPerformanceCounterKHR>& counters();
  Context& device() { return context(); }

 protected:
  void SetUp() override { start_performance(); }
  Context& start_performance(LayerSettings::Pairs settings = {}, ContextOptions options = {});

  VkResult enumerate(uint32_t* count, VkPerformanceCounterKHR* counters,
                     VkPerformanceCounterDescriptionKHR* descriptions, int64_t family = -1);
  uint32_t passes(const std::vector<std::string>& ids);
  std::vector<std::string> error_ids();

  // A pipeline that draws a triangle over the whole target.
  Pipeline make_triangles(GraphicsPipelineInfo more = {});
  void draw(VkCommandBuffer commands, VkPipeline pipeline, const RenderTarget& target);

 private:
  std::vector<std::string>::const_iterator find_counter(std::string_view id);

  std::vector<VkPerformanceCounterKHR> counters_;
  std::vector<std::string> names_;
};

// A pool of one query, or of one query per view.
class Performance {
 public:
  Performance(PerformanceTest& test, std::vector<std::string> ids, uint32_t queries = 1);

  VkQueryPool pool() const { return pool_; }
  uint32_t passes() const { return passes_; }
  void reset() const { vkResetQueryPool(context_.device(), pool_, 0, queries_); }

  // A completely counted command buffer, to be submitted once per pass.
  template <typename Work>
  VkCommandBuffer record(Work&& work) const {
    const VkCommandBuffer commands = context_.begin_commands(0);
    vkCmdBeginQuery(commands, pool_, 0, 0);
    work(commands);
    vkCmdEndQuery(commands, pool_, 0);
    check(vkEndCommandBuffer(commands));
    return commands;
  }
  // The same in a secondary command buffer; returns the primary that executes it.
  template <typename Work>
  VkCommandBuffer record_in_secondary(Work&& work) const {
    const VkCommandBuffer secondary = context_.begin_secondary();
    vkCmdBeginQuery(secondary, pool_, 0, 0);
    work(secondary);
    vkCmdEndQuery(secondary, pool_, 0);
    check(vkEndCommandBuffer(secondary));
    const VkCommandBuffer commands = context_.begin_commands(0);
    vkCmdExecuteCommands(commands, 1, &secondary);
    check(vkEndCommandBuffer(commands));
    return commands;
  }
  void submit(VkCommandBuffer commands, uint32_t pass) const;
  void submit2(VkCommandBuffer commands, uint32_t pass) const;

  // Submits all passes with the lock held.
  template <typename Work>
  void run(Work&& work) const {
    check(lock(context_, UINT64_MAX));
    reset();
    const VkCommandBuffer commands = record(work);
    for (uint32_t pass = 0; pass < passes_; ++pass) submit(commands, pass);
    check(results(VK_QUERY_RESULT_WAIT_BIT));
    unlock(context_);
  }

  // Calls vkGetQueryPoolResults and stores the values for the functions below.
  VkResult results(VkQueryResultFlags flags) const;
  uint64_t number(std::string_view id) const { return number_of(place(id), values_[place(id)]); }
  double real(std::string_view id) const { return real_of(place(id), values_[place(id)]); }
  // The results of a copy on the GPU.
  std::vector<VkPerformanceCounterResultKHR> copy() const;

  bool is_real(size_t place) const;
  uint64_t number_of(size_t place, const VkPerformanceCounterResultKHR& value) const;
  double real_of(size_t place, const VkPerformanceCounterResultKHR& value) const;
  const VkPerformanceCounterResultKHR& value(size_t place) const { return values_[place]; }

 private:
  size_t place(std::string_view id) const;

  Context& context_;
  std::vector<std::string> ids_;
  uint32_t queries_;
  std::vector<VkPerformanceCounterStorageKHR> storages_;
  uint32_t passes_ = 0;
  QueryPool pool_;
  mutable std::vector<VkPerformanceCounterResultKHR> values_;
};

}  // namespace tally::test
