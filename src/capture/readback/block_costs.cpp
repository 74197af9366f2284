#include "capture/readback/block_costs.h"

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
  updates_.push_back({block, costs});
  return costs;
}

std::vector<BlockCosts::Update> BlockCosts::take_updates() { return std::exchange(updates_, {}); }

}  // namespace tally::capture
