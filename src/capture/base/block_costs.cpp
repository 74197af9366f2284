#include "capture/base/block_costs.h"

#include <strings.h>
#include <tally/vulkan_arm.h>

#include <algorithm>
#include <utility>

#include "catalogue/catalogue.h"

namespace tally::capture {
namespace {

// Finds a metric of VK_LAYER_TALLY_counters. Another implementation may use the same name for
// something else, so the descriptions must be equal too.
std::optional<uint32_t> find(std::span<const stream::Metric> metrics,
                             const catalogue::Counter& counter) {
  const auto found = std::ranges::find_if(metrics, [&](const stream::Metric& metric) {
    return metric.name == counter.name && metric.description == counter.description;
  });
  if (found == metrics.end()) return std::nullopt;
  return static_cast<uint32_t>(found - metrics.begin());
}

// What VK_LAYER_TALLY_counters may return of a block, in its order.
std::vector<const catalogue::Counter*> counters_of_blocks() {
  auto all = catalogue::counters_of(catalogue::Scope::Block);
  for (const catalogue::Scope scope : {catalogue::Scope::Branch, catalogue::Scope::Site}) {
    const auto more = catalogue::counters_of(scope);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// True if the device returns metrics of VK_LAYER_TALLY_counters alone, and leaves the static costs
// to the capture.
bool lacks_static_costs(std::span<const stream::Metric> metrics) {
  size_t known = 0;
  for (const catalogue::Counter* counter : counters_of_blocks()) {
    if (!find(metrics, *counter)) continue;
    if (spirv::cost_class_of(counter->number)) return false;
    ++known;
  }
  return known != 0 && known == metrics.size();
}

// In the order of the catalogue, which has a counter for every cost class.
void add_static_costs(MetricLayout& layout, std::span<const stream::Metric> returned) {
  layout.added.resize(spirv::kCostClassCount);
  for (const catalogue::Counter* counter : counters_of_blocks()) {
    const auto index = static_cast<uint32_t>(layout.metrics.size());
    const auto cost = spirv::cost_class_of(counter->number);
    const auto place = find(returned, *counter);
    if (cost) layout.added[static_cast<size_t>(*cost)] = index;
    if (place) layout.returned[*place] = index;
    if (!cost && !place) continue;
    layout.metrics.push_back(
        {.name = std::string(counter->name), .description = std::string(counter->description)});
  }
}

}  // namespace

MetricLayout MetricLayout::of(std::vector<stream::Metric> metrics) {
  MetricLayout layout;
  for (uint32_t i = 0; i < metrics.size(); ++i) {
    layout.returned.push_back(i);
    const bool named = ::strcasecmp(metrics[i].name.c_str(), kExecutionsMetric) == 0;
    if (named && !layout.executions) layout.executions = i;
  }
  if (lacks_static_costs(metrics)) {
    add_static_costs(layout, metrics);
  } else {
    layout.metrics = std::move(metrics);
  }
  return layout;
}

size_t MetricLayout::block_bytes() const {
  return sizeof(VkShaderInstrumentationMetricDataHeaderARM) + values() * sizeof(uint64_t);
}

std::vector<uint64_t> MetricLayout::costs_of(std::span<const BlockCost> costs) const {
  std::vector<uint64_t> values(metrics.size());
  if (executions) values[returned[*executions]] = 1;
  for (const BlockCost& known : costs) {
    values[added[static_cast<size_t>(known.cost)]] = known.per_execution;
  }
  return values;
}

std::span<const uint64_t> BlockCosts::learn(uint32_t block, uint64_t executions,
                                            std::span<const uint64_t> values) {
  if (block >= kMaxBlocks) return {};
  if (block >= learned_.size()) learned_.resize(block + 1);
  std::vector<uint64_t>& costs = learned_[block];
  if (!costs.empty() || executions == 0) return costs;
  costs.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    costs[i] = values[i] % executions == 0 ? values[i] / executions : 0;
  }
  updates_.push_back({block, costs});
  return costs;
}

void BlockCosts::add(const MetricLayout& layout, std::span<const BlockCost> known) {
  if (std::exchange(added_, true)) return;
  while (!known.empty()) {
    const uint32_t block = known.front().block;
    const auto end = std::ranges::upper_bound(known, block, {}, &BlockCost::block);
    const auto count = static_cast<size_t>(end - known.begin());
    updates_.push_back({block, layout.costs_of(known.first(count))});
    known = known.subspan(count);
  }
}

std::vector<BlockCosts::Update> BlockCosts::take_updates() { return std::exchange(updates_, {}); }

}  // namespace tally::capture
