// The counters of the stand-in, and their values.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>

namespace tally::test::performance {

// Counter indices, the same in every queue family.
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

// Dispatches and runs are counted: the dispatches between begin and end, and the number of times
// the query has run in its pass since its reset. "whole" reads 0 if the query is not the first and
// last command of its command buffer. All values of a pass that does not exist are this constant.
inline constexpr uint64_t kNoSuchPass = 0xdeaddeaddeaddead;
inline constexpr float kTemperatureRead = 300.5f;
inline constexpr int32_t kCurrentRead = -7;
inline constexpr double kClockRead = 1.5e9;
inline constexpr int64_t kWholeRead = int64_t{1} << 40;

// With this environment variable, before every draw and dispatch the driver overwrites the 4 bytes
// of push constants at offset 0 with mark_of() the bound pipeline, so a shader can detect which
// pipeline it runs in.
inline constexpr const char* kMarks = "TALLY_TEST_DRIVER_MARKS";
inline uint32_t mark_of(VkPipeline pipeline) {
  const auto bits = reinterpret_cast<uint64_t>(pipeline);
  return static_cast<uint32_t>(bits >> 32 ^ bits);
}

// A device function: the number of graphics pipelines that the driver has created.
inline constexpr const char* kCreatedGraphics = "vkGetCreatedGraphicsPipelinesTALLY";
using CreatedGraphics = uint32_t(VKAPI_PTR*)(VkDevice);

// A device function: the number of shader objects that the driver has created.
inline constexpr const char* kCreatedShaders = "vkGetCreatedShaderObjectsTALLY";
using CreatedShaders = uint32_t(VKAPI_PTR*)(VkDevice);

// A device function: the number of descriptor set layouts that exist.
inline constexpr const char* kSetLayouts = "vkGetSetLayoutsTALLY";
using SetLayouts = uint32_t(VKAPI_PTR*)(VkDevice);

// A device function: how often queries of any type but performance were begun, reset or copied.
inline constexpr const char* kUsesOfQueries = "vkGetUsesOfQueriesTALLY";
using UsesOfQueries = uint32_t(VKAPI_PTR*)(VkDevice);

// With this environment variable the driver does not support hostQueryReset.
inline constexpr const char* kNoHostReset = "TALLY_TEST_NO_HOST_RESET";

}  // namespace tally::test::performance
