// The counters that the driver offers under its own names: the groups of GL_AMD_performance_monitor
// and the queries of GL_INTEL_performance_query. This is the driver's list, the same for all its
// contexts; driver_segments.h measures them.
#pragma once

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

}  // namespace tally::egl
