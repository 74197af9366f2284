// The functions that the layer stands in front of, and when.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vk/layer.h"

namespace tally::counters {

// When a function is intercepted.
enum class HookCondition : uint8_t {
  Always,
  Own,                       // a physical device's function, which exists without support below
  WhereBelow,                // an instance's function of an extension that the layers below have
  InstrumentationExtension,  // VK_ARM_shader_instrumentation is enabled
  Instrumentation,           // any feature of the layer is enabled
  QueueShared,               // ... and the layer copies records on a queue of the application
  Regions,                   // counters by region are enabled
  Queries,                   // the layer emulates queries
  Passes,                    // Regions or Queries
  Rendering,                 // Passes, or the GPU gathers records
  ProfilingLock,             // VK_KHR_performance_query is enabled
  IntelQueries,              // VK_INTEL_performance_query is emulated
  PerformanceQueries,        // one of the two kinds of performance queries is emulated
  Heaps,                     // VK_EXT_descriptor_heap is enabled with a feature of the layer
  Descriptors,               // Heaps or PerformanceQueries
};

using Hook = vk::BasicHook<HookCondition>;
using Hooks = std::vector<Hook>;
using HookTable = vk::BasicHookTable<HookCondition>;

template <typename Function>
Hook make_hook(std::string_view name, Function* function,
               HookCondition condition = HookCondition::Always) {
  return vk::basic_hook(name, function, condition);
}

}  // namespace tally::counters
