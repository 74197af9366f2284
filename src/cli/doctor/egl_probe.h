// What EGL_BRCM_performance_counters offers in an environment. A separate process (`tally
// probe-egl`, internal) queries it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/run/environment.h"

namespace tally::cli {

struct ProbedCounter {
  std::string name;
  std::string unit;
  uint64_t denominator = 1;
};

struct ProbedGroup {
  std::string name;
  int max_active = 0;
  std::vector<ProbedCounter> counters;
};

struct EglProbe {
  std::string library_error;  // why EGL is missing; "" if it is available
  std::string display_error;  // why there is no display; "" if there is one
  std::string version;        // EGL_VERSION and EGL_VENDOR of the display
  std::string vendor;
  bool has_extension = false;
  std::vector<ProbedGroup> groups;
  std::string died;  // how the probe process failed; "" if it answered

  size_t counter_count() const;
  // Why there is nothing to count; "" if there is.
  std::string why_unavailable() const;
};

EglProbe probe_egl(const Environment& environment);

// Queries EGL in this process.
EglProbe probe_egl_here();

}  // namespace tally::cli
