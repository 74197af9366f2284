// The metrics that two captures have in common, and the values of these metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/model/metrics.h"

namespace tally::analysis {

class ValueMap {
 public:
  ValueMap(const std::vector<Metric>& before, const std::vector<Metric>& after);

  const std::vector<Metric>& metrics() const { return metrics_; }
  // The values of the common metrics. Missing values are 0.
  std::vector<uint64_t> before(const std::vector<uint64_t>& values) const;
  std::vector<uint64_t> after(const std::vector<uint64_t>& values) const;
  const std::vector<std::string>& only_before() const { return only_before_; }
  const std::vector<std::string>& only_after() const { return only_after_; }

 private:
  std::vector<Metric> metrics_;
  std::vector<size_t> before_, after_;  // by common metric: its index in the capture
  std::vector<std::string> only_before_, only_after_;
};

}  // namespace tally::analysis
