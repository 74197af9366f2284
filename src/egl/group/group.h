// A group of counters as EGL_BRCM_performance_counters lists it.
//
// Groups and counters are only appended to their lists (some become known only once a context
// exists), so the application's indices stay valid. The session's lock protects all members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "egl/gl/context.h"

namespace tally::egl {

struct CounterInfo {
  enum class Kind {
    Total,    // only grows while something is collected; the application sees the growth since its
              // last reset
    Level,    // the current value; a reset does not change it
    Extreme,  // found since the last reset_extremes()
  };

  std::string name;
  std::string unit;
  Kind kind = Kind::Total;
  uint64_t denominator = 1;  // the value in the counter's unit is value / denominator
  uint64_t minimum = 0;      // of value / denominator
  uint64_t maximum = UINT64_MAX;
};

// A counter of the catalogue. Times in nanoseconds are listed in microseconds, other values
// unchanged and without an upper bound.
inline CounterInfo counter_info(catalogue::Number number,
                                CounterInfo::Kind kind = CounterInfo::Kind::Total) {
  const catalogue::Counter& counter = catalogue::counter(number);
  CounterInfo info{std::string(counter.name), std::string(catalogue::unit_of(counter)), kind};
  if (counter.unit == catalogue::Unit::Nanoseconds) {
    info.unit = "us";
    info.denominator = 1000;
    info.maximum = UINT64_MAX / info.denominator;
  }
  return info;
}

// The data that must be collected for the chosen counters. Each group adds to it.
struct CollectionRequest {
  uint32_t collecting = 0;  // bits of Collecting
  bool frames = false;
  bool vulkan = false;
  CollectPlan plan;
};

class Group {
 public:
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<CounterInfo>& counters() const { return counters_; }
  // The maximum number of counters that can be active at the same time.
  virtual uint32_t max_active() const { return static_cast<uint32_t>(counters_.size()); }

  virtual void add_to_request(const std::vector<bool>& chosen,
                              CollectionRequest& request) const = 0;
  // The current value of every counter, in the order of counters(). Totals count from the start of
  // the process.
  virtual std::vector<uint64_t> read() = 0;
  virtual void reset_extremes() {}
  // Waits until the values include all work that the calling thread has submitted.
  virtual void resolve_pending() {}

 protected:
  explicit Group(std::string name) : name_(std::move(name)) {}

  std::vector<CounterInfo> counters_;

 private:
  std::string name_;
};

}  // namespace tally::egl
