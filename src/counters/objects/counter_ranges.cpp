#include "counters/objects/counter_ranges.h"

#include <algorithm>

namespace tally::counters {

std::shared_ptr<const CounterRanges::Range> CounterRanges::take(uint32_t size) {
  // Empty ranges would share a key.
  auto range = std::make_unique<Range>(Range{0, std::max(size, 1u)});
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [begin, end] : state_->taken) {
      if (begin - range->first >= range->size) break;
      range->first = end;
    }
    state_->taken.emplace(range->first, range->first + range->size);
  }
  const auto release = [state = state_](const Range* released) {
    {
      const std::lock_guard lock(state->mutex);
      state->taken.erase(released->first);
    }
    delete released;
  };
  return {range.release(), release};
}

}  // namespace tally::counters
