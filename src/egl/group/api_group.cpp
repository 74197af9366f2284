#include "egl/group/api_group.h"

#include <algorithm>

#include "egl/gl/api_counts.h"

namespace tally::egl {
namespace {

// The catalogue has them in the order of ApiCounter.
constexpr bool has_number(ApiCounter counter, catalogue::Number number) {
  return static_cast<uint32_t>(catalogue::Number::GlDrawCalls) + static_cast<uint32_t>(counter) ==
         static_cast<uint32_t>(number);
}
static_assert(has_number(ApiCounter::Errors, catalogue::Number::GlErrors));
static_assert(has_number(ApiCounter::Flushes, catalogue::Number::GlFlushes));
static_assert(static_cast<size_t>(ApiCounter::Flushes) + 1 == kApiCounterCount);

bool is(const std::vector<bool>& chosen, ApiCounter counter) {
  return chosen[static_cast<size_t>(counter)];
}

}  // namespace

ApiGroup::ApiGroup() : Group("API") {
  counters_ = counter_infos(catalogue::Number::GlDrawCalls, kApiCounterCount);
}

void ApiGroup::add_wants(const std::vector<bool>& chosen, Wants& wants) const {
  if (std::find(chosen.begin(), chosen.end(), true) == chosen.end()) return;
  wants.collecting |= kCollectApi;
  if (is(chosen, ApiCounter::ComputeInvocations)) wants.collecting |= kCollectComputeInvocations;
  if (is(chosen, ApiCounter::Errors)) wants.plan.errors = true;
}

std::vector<uint64_t> ApiGroup::read() {
  const ApiTotals totals = api_totals();
  return {totals.begin(), totals.end()};
}

}  // namespace tally::egl
