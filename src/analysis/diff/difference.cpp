#include "analysis/diff/difference.h"

#include <algorithm>
#include <tuple>

namespace tally::analysis {

bool CaptureDiff::empty() const {
  return std::ranges::all_of(by, [](const auto& list) { return list.empty(); });
}

ValuePair values_of(const Difference& difference, size_t metric) {
  return {difference.before.empty() ? 0 : difference.before[metric],
          difference.after.empty() ? 0 : difference.after[metric]};
}

void sort_differences(std::vector<Difference>& differences, size_t metric) {
  std::ranges::stable_sort(differences, [metric](const Difference& a, const Difference& b) {
    const auto key = [metric](const Difference& d) {
      // Changes that code causes itself come before changes that its callers cause.
      return std::tuple(d.only_invocations, ~values_of(d, metric).amount(), d.file, d.line, d.name,
                        d.place);
    };
    return key(a) < key(b);
  });
}

}  // namespace tally::analysis
