// Measures selected driver counters in one context between open() and close(), as GpuQueries does
// for GL's queries. When the application begins a performance monitor or query of its own, ours end
// before it and stay off until it has ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "egl/gl/driver_counters.h"

namespace tally::egl {

// The selected counters, indexed by group, then by counter.
using DriverChoice = std::vector<std::vector<bool>>;

class DriverSegments {
 public:
  DriverSegments(const RawGl& gl, std::shared_ptr<const DriverCounters> counters);

  // Call these on the context's thread, holding an ErrorGuard.
  void open(const DriverChoice& choice);
  void close();
  void collect_results(bool wait);
  bool is_busy() const { return !pending_.empty(); }
  void before_application_begins();
  void after_application_ends();

  // Any thread may call this.
  uint64_t total(size_t index) const { return totals_[index].load(std::memory_order_relaxed); }

 private:
  struct Running {
    const DriverCounterGroup* group;
    GLuint handle;
    std::vector<bool> chosen;
  };

  bool begin(const DriverCounterGroup& group, const std::vector<bool>& chosen);
  void begin_all();
  void end_all();
  bool is_available(const Running& running) const;
  void finish(const Running& running);
  void read_amd(const Running& running);
  void read_intel(const Running& running);
  void add(const DriverCounter& counter, const std::byte* value);

  const RawGl& gl_;
  std::shared_ptr<const DriverCounters> counters_;
  std::unique_ptr<std::atomic<uint64_t>[]> totals_;
  DriverChoice choice_;
  bool open_ = false;
  int application_queries_ = 0;
  std::vector<Running> running_;
  std::deque<Running> pending_;
};

}  // namespace tally::egl
