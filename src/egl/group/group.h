// A group of counters as EGL_BRCM_performance_counters lists it.
//
// Groups and counters are only ever added at the end of their lists (some are known only once a
// context exists), so the indices that an application holds stay good. All members are called under
// the session's lock.
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
    Level,    // what it is now; no reset changes it
    Extreme,  // found since the last reset; reset_extremes() begins anew
  };

  std::string name;
  std::string unit;
  Kind kind = Kind::Total;
  uint64_t denominator = 1;  // value / denominator is in the unit
  uint64_t minimum = 0;      // of value / denominator
  uint64_t maximum = UINT64_MAX;
};

// A counter of the catalogue: times in nanoseconds are listed in microseconds, other values as they
// are and without a bound.
CounterInfo counter_info(catalogue::Number number,
                         CounterInfo::Kind kind = CounterInfo::Kind::Total);
// `count` counters of the catalogue whose numbers follow one another.
std::vector<CounterInfo> counter_infos(catalogue::Number first, size_t count);

// What has to be collected for the counters that are chosen; the groups add to it.
struct Wants {
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
  // How many can be active at a time.
  virtual uint32_t max_active() const { return static_cast<uint32_t>(counters_.size()); }

  virtual void add_wants(const std::vector<bool>& chosen, Wants& wants) const = 0;
  // The value of every counter now, in the order of counters(). For totals: since the process
  // began.
  virtual std::vector<uint64_t> read() = 0;
  virtual void reset_extremes() {}
  // Waits until what the calling thread has asked for so far is in the values.
  virtual void settle() {}

 protected:
  explicit Group(std::string name) : name_(std::move(name)) {}

  std::vector<CounterInfo> counters_;

 private:
  std::string name_;
};

}  // namespace tally::egl
