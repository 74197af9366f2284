#include "capture/emit/live_totals.h"

#include <algorithm>
#include <cstring>

#include "catalogue/catalogue.h"

namespace tally::capture {
namespace {

// The catalogue lists them in the order of LiveCounter.
constexpr catalogue::Number number_of(LiveCounter counter) {
  return static_cast<catalogue::Number>(static_cast<uint32_t>(catalogue::Number::VkSubmissions) +
                                        static_cast<uint32_t>(counter));
}
static_assert(number_of(LiveCounter::GpuTime) == catalogue::Number::VkGpuTime);
static_assert(number_of(LiveCounter::ComputeInvocations) ==
              catalogue::Number::VkComputeInvocations);

template <size_t kSize>
void copy_text(char (&target)[kSize], std::string_view text) {
  const size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

// Finds a metric of VK_LAYER_TALLY_counters by its name in that layer. The metrics of a driver may
// have any name.
const catalogue::Counter* find_metric(const std::string& name) {
  for (const catalogue::Counter* counter : catalogue::counters_of(catalogue::Scope::Block)) {
    if (counter->id == name || counter->name == name) return counter;
  }
  return nullptr;
}

void describe_metric(const std::string& metric, TallyLiveCounter& description) {
  const catalogue::Counter* known = find_metric(metric);
  const bool is_executions = known && known->number == catalogue::Number::Executions;
  const bool is_bytes = known && known->unit == catalogue::Unit::Bytes;
  std::string name = "Shaders: ";
  name += is_executions ? "Blocks executed" : known ? known->name : std::string_view(metric);
  copy_text(description.name, name);
  copy_text(description.unit, is_bytes ? "bytes" : "operations");
  description.denominator = 1;
}

}  // namespace

LiveTotals& LiveTotals::instance() {
  static auto* const one = new LiveTotals;  // outlives every thread
  return *one;
}

std::vector<uint32_t> LiveTotals::list(const MetricLayout& layout) {
  const std::lock_guard lock(mutex_);
  std::vector<uint32_t> places;
  for (const stream::Metric& metric : layout.metrics) {
    auto found = std::ranges::find(metrics_, metric.name);
    if (found == metrics_.end()) found = metrics_.insert(found, metric.name);
    places.push_back(static_cast<uint32_t>(kLiveCounterCount + (found - metrics_.begin())));
  }
  values_.resize(kLiveCounterCount + metrics_.size());
  return places;
}

void LiveTotals::add(const LiveSum& sum, std::span<const uint32_t> places) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < kLiveCounterCount; ++i) values_[i] += sum.counts()[i];
  for (size_t i = 0; i < std::min(places.size(), sum.metrics().size()); ++i) {
    values_[places[i]] += sum.metrics()[i];
  }
}

uint32_t LiveTotals::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(values_.size());
}

bool LiveTotals::describe(uint32_t counter, TallyLiveCounter& description) const {
  const std::lock_guard lock(mutex_);
  if (counter >= values_.size()) return false;
  if (counter >= kLiveCounterCount) {
    describe_metric(metrics_[counter - kLiveCounterCount], description);
    return true;
  }
  const catalogue::Counter& row = catalogue::counter(number_of(static_cast<LiveCounter>(counter)));
  const bool is_time = row.unit == catalogue::Unit::Nanoseconds;
  copy_text(description.name, row.name);
  copy_text(description.unit, is_time ? "us" : catalogue::unit_of(row));
  description.denominator = is_time ? 1000 : 1;
  return true;
}

void LiveTotals::read(std::span<uint64_t> values) const {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i < values_.size() ? values_[i] : 0;
}

}  // namespace tally::capture
