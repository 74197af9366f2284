// What the test driver's counters are, and what they read.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>

namespace tally::test::driver {

// Indices of counters, the same in every queue family.
enum Index : uint32_t { kDispatches, kTemperature, kCurrent, kClock, kRuns, kWhole, kCounters };

struct Counter {
  const char* name;
  VkPerformanceCounterUnitKHR unit;
  VkPerformanceCounterStorageKHR storage;
  VkPerformanceCounterScopeKHR scope;
  uint32_t group;  // counters of two groups need two passes
};

inline constexpr std::array<Counter, kCounters> kAll{{
    {"dispatches", VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR,
     VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR, VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR, 0},
    {"temperature", VK_PERFORMANCE_COUNTER_UNIT_KELVIN_KHR,
     VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR, VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR, 0},
    {"current", VK_PERFORMANCE_COUNTER_UNIT_AMPS_KHR, VK_PERFORMANCE_COUNTER_STORAGE_INT32_KHR,
     VK_PERFORMANCE_COUNTER_SCOPE_RENDER_PASS_KHR, 1},
    {"clock", VK_PERFORMANCE_COUNTER_UNIT_HERTZ_KHR, VK_PERFORMANCE_COUNTER_STORAGE_FLOAT64_KHR,
     VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR, 1},
    {"runs", VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR, VK_PERFORMANCE_COUNTER_STORAGE_UINT32_KHR,
     VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR, 1},
    {"whole", VK_PERFORMANCE_COUNTER_UNIT_BYTES_KHR, VK_PERFORMANCE_COUNTER_STORAGE_INT64_KHR,
     VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR, 0},
}};

// Dispatches and runs are counted: dispatches between begin and end, and how often the query has
// run in its pass since it was reset. "whole" reads 0 where the query is not the first and the last
// of what its command buffer does. Of a pass that does not exist everything is this.
inline constexpr uint64_t kNoSuchPass = 0xdeaddeaddeaddead;
inline constexpr float kTemperatureRead = 300.5f;
inline constexpr int32_t kCurrentRead = -7;
inline constexpr double kClockRead = 1.5e9;
inline constexpr int64_t kWholeRead = int64_t{1} << 40;

// With this environment variable the driver writes mark_of() the bound pipeline over the 4 bytes of
// constants at offset 0, wherever they were pushed, before every draw and dispatch: so a shader can
// tell which pipeline it runs in.
inline constexpr const char* kMarks = "TALLY_TEST_DRIVER_MARKS";
inline uint32_t mark_of(VkPipeline pipeline) {
  const auto bits = reinterpret_cast<uint64_t>(pipeline);
  return static_cast<uint32_t>(bits >> 32 ^ bits);
}

}  // namespace tally::test::driver
