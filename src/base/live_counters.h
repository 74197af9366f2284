// The interface through which the EGL library reads the Vulkan counters of its process while the
// process runs. The capture layer implements it. It is plain C, because the two libraries share no
// code. The EGL library looks up kLiveCountersSymbol in the layer's library, if that is loaded.
//
// Values are totals over all devices since the process started, including destroyed devices. The
// list of counters is empty until the process creates a device whose shaders can be counted;
// afterwards counters are only appended. Every function is thread-safe and cannot fail.
#pragma once

#include <cstdint>

extern "C" {

struct TallyLiveCounter {
  char name[128];
  char unit[32];
  uint64_t denominator;  // value / denominator is in `unit`
};

struct TallyLiveCounters {
  uint32_t (*count)();
  // Returns 0 if there is no such counter.
  int (*describe)(uint32_t counter, TallyLiveCounter* description);
  // Commands are counted if they are recorded and submitted while at least one client wants counts.
  // Each call with 1 must be balanced by a call with 0.
  void (*request)(int enable);
  // Waits up to `milliseconds` until the totals include all work submitted so far.
  void (*wait)(uint32_t milliseconds);
  // Copies the first `count` totals.
  void (*read)(uint64_t* values, uint32_t count);
  // True if the process has created a swapchain: the frames of its capture then end at presents.
  int (*presents)();
};

// Returns null if the layer does not implement this version.
using TallyGetLiveCounters = const TallyLiveCounters*(uint32_t version);
}

namespace tally {

inline constexpr const char* kLiveCountersLibrary = "libVkLayer_tally_capture.so";
inline constexpr const char* kLiveCountersSymbol = "tally_capture_live_counters";
inline constexpr uint32_t kLiveCountersVersion = 2;

}  // namespace tally
