#include "analysis/diff/value_map.h"

#include <algorithm>

namespace tally::analysis {
namespace {

// Each capture has such a metric for the stages that ran; a stage that did not has the value 0.
bool is_of_stage(const Metric& metric) { return metric.id.starts_with("invocations_"); }

constexpr size_t kMissing = ~size_t{0};

size_t index_of(const std::vector<Metric>& metrics, const std::string& id) {
  const auto found = std::ranges::find(metrics, id, &Metric::id);
  return found == metrics.end() ? kMissing : static_cast<size_t>(found - metrics.begin());
}

std::vector<uint64_t> taken(const std::vector<uint64_t>& values,
                            const std::vector<size_t>& indices) {
  std::vector<uint64_t> result;
  result.reserve(indices.size());
  for (const size_t index : indices) result.push_back(index < values.size() ? values[index] : 0);
  return result;
}

}  // namespace

ValueMap::ValueMap(const std::vector<Metric>& before, const std::vector<Metric>& after) {
  const auto add = [this](const Metric& metric, size_t a, size_t b) {
    metrics_.push_back(metric);
    before_.push_back(a);
    after_.push_back(b);
  };
  for (size_t i = 0; i < before.size(); ++i) {
    const size_t other = index_of(after, before[i].id);
    if (other != kMissing || is_of_stage(before[i])) {
      add(before[i], i, other);
    } else {
      only_before_.push_back(before[i].id);
    }
  }
  for (size_t i = 0; i < after.size(); ++i) {
    if (index_of(before, after[i].id) != kMissing) continue;
    if (is_of_stage(after[i])) {
      add(after[i], kMissing, i);
    } else {
      only_after_.push_back(after[i].id);
    }
  }
}

std::vector<uint64_t> ValueMap::before(const std::vector<uint64_t>& values) const {
  return taken(values, before_);
}

std::vector<uint64_t> ValueMap::after(const std::vector<uint64_t>& values) const {
  return taken(values, after_);
}

}  // namespace tally::analysis
