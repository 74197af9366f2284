// The counters that the driver itself offers: the groups of GL_AMD_performance_monitor and the
// queries of GL_INTEL_performance_query, under the driver's own names. This is what a driver lists,
// the same for all its contexts; driver_segments.h measures.
#pragma once

#include <string>
#include <vector>

#include "egl/gl/raw.h"

namespace tally::egl {

struct DriverCounter {
  // The denominator of counters that the driver gives as floating-point numbers.
  static constexpr uint64_t kFraction = 1000;
  enum class Type { Uint32, Uint64, Float, Double };
  static size_t size_of(Type type) { return type == Type::Uint64 || type == Type::Double ? 8 : 4; }

  std::string name;
  std::string unit;
  GLuint id;         // AMD: the counter; INTEL: its place in the list of the query, from 1
  uint64_t minimum;  // in the unit
  uint64_t maximum;
  uint64_t denominator;
  bool is_level;  // the last value counts, not the sum
  Type type;
  GLuint offset;  // INTEL: of the value in the result
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

  // Asks the driver, in the current context. The caller holds an ErrorGuard.
  static DriverCounters list(const RawGl& gl);
};

}  // namespace tally::egl
