// What the capture layer counts of a process's Vulkan, while the process runs, for the EGL library
// in the same process: plain C, so that two libraries that share no code can speak it. The EGL
// library finds kLiveCountersSymbol in the layer's file where that is loaded.
//
// Counters are totals of all devices since the process began, those of devices that are gone
// included. Their list is empty until a device is there whose shaders can be counted; it only ever
// grows at its end. Every function may be called from any thread, and fails at nothing.
#pragma once

#include <cstdint>

extern "C" {

struct TallyLiveCounter {
  char name[128];
  char unit[32];
  uint64_t denominator;  // value / denominator is in the unit
};

struct TallyLiveCounters {
  uint32_t (*count)();
  // 0: no such counter.
  int (*describe)(uint32_t counter, TallyLiveCounter* description);
  // Commands are counted that are recorded and submitted while somebody wants them: each call with
  // 1 is taken back by one with 0.
  void (*want)(int wanted);
  // Waits until what has been submitted so far is in the totals; not for work that takes longer.
  void (*settle)(uint32_t milliseconds);
  // The first `count` totals.
  void (*read)(uint64_t* values, uint32_t count);
};

// Null where the layer does not know the version.
using TallyGetLiveCounters = const TallyLiveCounters*(uint32_t version);
}

namespace tally {

inline constexpr const char* kLiveCountersLibrary = "libVkLayer_tally_capture.so";
inline constexpr const char* kLiveCountersSymbol = "tally_capture_live_counters";
inline constexpr uint32_t kLiveCountersVersion = 1;

}  // namespace tally
