#include "capture/block_costs.h"

#include <strings.h>
#include <tally/vulkan_arm.h>

#include <utility>

namespace tally::capture {

void MetricLayout::find_executions() {
  executions.reset();
  for (size_t i = 0; i < metrics.size() && !executions; ++i) {
    if (::strcasecmp(metrics[i].name.c_str(), kExecutionsMetric) == 0) executions = i;
  }
}

size_t MetricLayout::block_bytes() const {
  return sizeof(VkShaderInstrumentationMetricDataHeaderARM) + values() * sizeof(uint64_t);
}

std::span<const uint64_t> BlockCosts::costs_of(uint32_t block, uint64_t executions,
                                               std::span<const uint64_t> values) {
  if (block >= kMaxBlocks) return {};
  if (block >= costs_.size()) costs_.resize(block + 1);
  std::vector<uint64_t>& costs = costs_[block];
  if (!costs.empty() || executions == 0) return costs;
  costs.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    costs[i] = values[i] % executions == 0 ? values[i] / executions : 0;
  }
  news_.push_back({block, costs});
  return costs;
}

std::vector<BlockCosts::News> BlockCosts::take_news() { return std::exchange(news_, {}); }

void BlockCosts::put_back(std::vector<News> news) {
  news.insert(news.end(), news_.begin(), news_.end());
  news_ = std::move(news);
}

StageSum::StageSum(uint32_t sub, uint32_t stage, const MetricLayout& layout) : layout_(layout) {
  sum_.sub = sub;
  sum_.stage = stage;
  sum_.totals.assign(layout.values(), 0);
}

void StageSum::add(uint32_t block, std::span<const uint64_t> values, BlockCosts* costs) {
  for (size_t i = 0; i < values.size(); ++i) sum_.totals[i] += values[i];
  uint64_t executions = 0;
  std::span<const uint64_t> known;
  if (costs && layout_.executions) {
    executions = values[*layout_.executions];
    known = costs->costs_of(block, executions, values);
    if (known.empty()) executions = 0;
  }
  if (executions != 0) sum_.blocks.push_back({block, executions});
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t expected = executions != 0 ? executions * known[i] : 0;
    if (values[i] != expected) {
      sum_.others.push_back({block, static_cast<uint32_t>(i), values[i]});
    }
  }
}

}  // namespace tally::capture
