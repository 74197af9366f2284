// The counters that the driver offers under its own names: the groups of GL_AMD_performance_monitor
// and the queries of GL_INTEL_performance_query. This is the driver's list, the same for all its
// contexts; driver_counters.h measures them.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "egl/gl/raw.h"

namespace tally::egl {

struct DriverCounter {
  // The denominator of counters that the driver reports as floating-point numbers.
  static constexpr uint64_t kFraction = 1000;
  enum class Type { Uint32, Uint64, Float, Double };
  static size_t size_of(Type type) { return type == Type::Uint64 || type == Type::Double ? 8 : 4; }

  std::string name;
  std::string unit;
  GLuint id;         // AMD: the counter's id; INTEL: its index in the query, from 1
  uint64_t minimum;  // in the unit
  uint64_t maximum;
  uint64_t denominator;
  bool is_level;  // the latest value is reported, not the sum
  Type type;
  GLuint offset;  // INTEL: offset of the value in the result, in bytes
  size_t total;   // index in DriverSegments::total()
};

struct DriverCounterGroup {
  enum class Api { AmdMonitor, IntelQuery } api;
  GLuint id;
  std::string name;
  uint32_t max_active;
  GLuint result_bytes;  // INTEL
  std::vector<DriverCounter> counters;
};

struct DriverCounters {
  std::vector<DriverCounterGroup> groups;
  size_t total_count = 0;

  // Queries the driver in the current context. The caller must hold an ErrorGuard.
  static DriverCounters list(const RawGl& gl);
};

// Measures selected driver counters in one context between open() and close(), as GpuQueries does
// for GL's queries. When the application begins a performance monitor or query of its own, ours end
// before it and stay off until it has ended.

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
