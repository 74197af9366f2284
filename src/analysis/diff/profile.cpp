#include "analysis/diff/profile.h"

#include <algorithm>

namespace tally::analysis {

std::optional<size_t> Profile::invocations_of(const std::string& stage) const {
  std::string id = "invocations_" + stage;
  std::ranges::replace(id, ' ', '_');
  const auto found = std::ranges::find(metrics, id, &Metric::id);
  if (found == metrics.end()) return std::nullopt;
  return static_cast<size_t>(found - metrics.begin());
}

}  // namespace tally::analysis
