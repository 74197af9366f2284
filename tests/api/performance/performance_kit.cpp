#include "api/performance/performance_kit.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "catalogue/catalogue.h"
#include "full_screen.vert.h"
#include "plain.frag.h"
#include "support/environment.h"
#include "support/queries.h"

namespace tally::test {

VkResult lock(const Context& context, uint64_t timeout) {
  const VkAcquireProfilingLockInfoKHR info{VK_STRUCTURE_TYPE_ACQUIRE_PROFILING_LOCK_INFO_KHR,
                                           nullptr, 0, timeout};
  return context.function<PFN_vkAcquireProfilingLockKHR>("vkAcquireProfilingLockKHR")(
      context.device(), &info);
}

void unlock(const Context& context) {
  context.function<PFN_vkReleaseProfilingLockKHR>("vkReleaseProfilingLockKHR")(context.device());
}

Context& PerformanceTest::start_performance(LayerSettings::Pairs settings, ContextOptions options) {
  VkPhysicalDevicePerformanceQueryFeaturesKHR features{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR, options.device_next,
      VK_TRUE, VK_TRUE};
  options.device_extensions.push_back(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
  options.device_next = &features;
  settings.emplace_back("validate_spirv", "true");
  const LayerSettings layer_settings(settings);
  options.layers.push_back("VK_LAYER_TALLY_counters");
  options.instance_next = layer_settings.next();
  counters_.clear();
  names_.clear();
  return start(false, options);
}

VkResult PerformanceTest::enumerate(uint32_t* count, VkPerformanceCounterKHR* counters,
                                    VkPerformanceCounterDescriptionKHR* descriptions,
                                    int64_t family) {
  const auto ask =
      reinterpret_cast<PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR>(
          vkGetInstanceProcAddr(context().instance(),
                                "vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR"));
  return ask(context().gpu(), family < 0 ? context().queue_family() : static_cast<uint32_t>(family),
             count, counters, descriptions);
}

const std::vector<VkPerformanceCounterKHR>& PerformanceTest::counters() {
  if (!counters_.empty()) return counters_;
  uint32_t count = 0;
  check(enumerate(&count, nullptr, nullptr));
  counters_.assign(count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR});
  std::vector<VkPerformanceCounterDescriptionKHR> descriptions(
      count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR});
  check(enumerate(&count, counters_.data(), descriptions.data()));
  for (const auto& description : descriptions) names_.emplace_back(description.name);
  return counters_;
}

std::vector<std::string>::const_iterator PerformanceTest::find_counter(std::string_view id) {
  constexpr std::string_view kDriver = "driver.";
  counters();
  if (id.starts_with(kDriver)) return std::ranges::find(names_, id.substr(kDriver.size()));
  const catalogue::Counter* counter = catalogue::find(id);
  return counter ? std::ranges::find(names_, counter->name) : names_.end();
}

bool PerformanceTest::has_counter(std::string_view id) { return find_counter(id) != names_.end(); }

uint32_t PerformanceTest::counter_index(std::string_view id) {
  if (!has_counter(id)) throw std::runtime_error("no counter " + std::string(id));
  return static_cast<uint32_t>(find_counter(id) - names_.begin());
}

uint32_t PerformanceTest::passes(const std::vector<std::string>& ids) {
  std::vector<uint32_t> indices;
  for (const std::string& id : ids) indices.push_back(counter_index(id));
  const VkQueryPoolPerformanceCreateInfoKHR info{
      VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR, nullptr, context().queue_family(),
      static_cast<uint32_t>(indices.size()), indices.data()};
  uint32_t passes = 0;
  reinterpret_cast<PFN_vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR>(
      vkGetInstanceProcAddr(context().instance(),
                            "vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR"))(
      context().gpu(), &info, &passes);
  return passes;
}

std::vector<std::string> PerformanceTest::error_ids() {
  std::vector<std::string> ids;
  for (const Message& message : context().take_errors()) ids.push_back(message.id);
  return ids;
}

Pipeline PerformanceTest::make_triangles(GraphicsPipelineInfo more) {
  return make_graphics(
      {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}, {VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag}},
      std::move(more));
}

void PerformanceTest::draw(VkCommandBuffer commands, VkPipeline pipeline,
                           const RenderTarget& target) {
  vkCmdBindPipeline(commands, kGraphics, pipeline);
  target.set_viewport(commands);
  vkCmdDraw(commands, 3, 1, 0, 0);
}

Performance::Performance(PerformanceTest& test, std::vector<std::string> ids, uint32_t queries)
    : context_(test.device()), ids_(std::move(ids)), queries_(queries), values_(ids_.size()) {
  std::vector<uint32_t> indices;
  for (const std::string& id : ids_) {
    indices.push_back(test.counter_index(id));
    storages_.push_back(test.counters()[indices.back()].storage);
  }
  const VkQueryPoolPerformanceCreateInfoKHR ours{
      VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR, nullptr, context_.queue_family(),
      static_cast<uint32_t>(indices.size()), indices.data()};
  reinterpret_cast<PFN_vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR>(
      vkGetInstanceProcAddr(context_.instance(),
                            "vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR"))(
      context_.gpu(), &ours, &passes_);
  pool_ = make_query_pool(context_, VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR, queries_, 0, &ours);
}

void Performance::submit(VkCommandBuffer commands, uint32_t pass) const {
  const VkPerformanceQuerySubmitInfoKHR ours{VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR,
                                             nullptr, pass};
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO, &ours};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  check(vkQueueSubmit(context_.queue(), 1, &info, VK_NULL_HANDLE));
  check(vkQueueWaitIdle(context_.queue()));
}

void Performance::submit2(VkCommandBuffer commands, uint32_t pass) const {
  const VkPerformanceQuerySubmitInfoKHR ours{VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR,
                                             nullptr, pass};
  const VkCommandBufferSubmitInfo one{VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, nullptr,
                                      commands};
  VkSubmitInfo2 info{VK_STRUCTURE_TYPE_SUBMIT_INFO_2, &ours};
  info.commandBufferInfoCount = 1;
  info.pCommandBufferInfos = &one;
  check(vkQueueSubmit2(context_.queue(), 1, &info, VK_NULL_HANDLE));
  check(vkQueueWaitIdle(context_.queue()));
}

VkResult Performance::results(VkQueryResultFlags flags) const {
  const size_t bytes = values_.size() * sizeof(VkPerformanceCounterResultKHR);
  return vkGetQueryPoolResults(context_.device(), pool_, 0, 1, bytes, values_.data(), bytes, flags);
}

std::vector<VkPerformanceCounterResultKHR> Performance::copy() const {
  const size_t bytes = values_.size() * sizeof(VkPerformanceCounterResultKHR);
  const Buffer target(context_, bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  context_.run([&](VkCommandBuffer commands) {
    vkCmdCopyQueryPoolResults(commands, pool_, 0, 1, target, 0, bytes, 0);
    full_barrier(commands);
  });
  const auto values = target.as<VkPerformanceCounterResultKHR>();
  return {values.begin(), values.begin() + static_cast<long>(values_.size())};
}

size_t Performance::place(std::string_view id) const {
  const auto found = std::ranges::find(ids_, id);
  if (found == ids_.end()) throw std::runtime_error("the query has no " + std::string(id));
  return static_cast<size_t>(found - ids_.begin());
}

bool Performance::is_real(size_t place) const {
  return storages_[place] == VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR ||
         storages_[place] == VK_PERFORMANCE_COUNTER_STORAGE_FLOAT64_KHR;
}

uint64_t Performance::number_of(size_t place, const VkPerformanceCounterResultKHR& value) const {
  switch (storages_[place]) {
    case VK_PERFORMANCE_COUNTER_STORAGE_INT32_KHR:
      return static_cast<uint64_t>(value.int32);
    case VK_PERFORMANCE_COUNTER_STORAGE_INT64_KHR:
      return static_cast<uint64_t>(value.int64);
    case VK_PERFORMANCE_COUNTER_STORAGE_UINT32_KHR:
      return value.uint32;
    case VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR:
      return value.uint64;
    default:
      throw std::runtime_error(ids_[place] + " is no whole number");
  }
}

double Performance::real_of(size_t place, const VkPerformanceCounterResultKHR& value) const {
  if (!is_real(place)) throw std::runtime_error(ids_[place] + " is a whole number");
  return storages_[place] == VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR
             ? static_cast<double>(value.float32)
             : value.float64;
}

}  // namespace tally::test
