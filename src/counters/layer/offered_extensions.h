// The offer of the layer above a driver: one row an extension, then query types and limits. The
// enumeration, the answers about features, vkCreateDevice and the conditions of hooks follow from
// the rows; a test compares the manifest with them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "counters/base/options.h"
#include "counters/base/physical_device.h"
#include "vk/layer.h"

namespace tally::counters {

// The functions that the layer stands in front of, and when.

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
  QueryPools,                // Queries, or queries of the driver count draws
  Passes,                    // Regions or QueryPools
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

// In the order of offered_extensions().
enum class Extension {
  Regions,
  Instrumentation,
  PerformanceQuery,
  IntelPerformanceQuery,
  PrimitivesGenerated,
  ElapsedTimer,
};

inline constexpr VkStructureType kNoStruct = VK_STRUCTURE_TYPE_MAX_ENUM;

struct OfferedExtension {
  VkExtensionProperties listed;
  // The driver has it, and no setting forces emulation: then it stays the driver's.
  bool PhysicalDevice::*native;
  // ... but for this one, whose counters the layer adds to those of the driver.
  bool beside_native = false;
  // Its condition besides the one of all (PhysicalDevice::missing). Null: none.
  bool (*needs)(const PhysicalDevice& gpu) = nullptr;
  // Its structs, which the driver does not get. The feature struct has `feature_count` VkBool32.
  VkStructureType features = kNoStruct;
  uint32_t feature_count = 0;
  VkStructureType properties = kNoStruct;
  // Tells if the layer has this feature, by its place in the struct. Null: all.
  bool (*has_feature)(const PhysicalDevice& gpu, uint32_t feature) = nullptr;
  // When its own commands exist. Always: it has none.
  HookCondition commands = HookCondition::Always;
};

std::span<const OfferedExtension> offered_extensions();
const OfferedExtension& offered_extension(Extension extension);

bool is_offered(const OfferedExtension& row, const PhysicalDevice& gpu);
bool is_offered(Extension extension, const PhysicalDevice& gpu);
// False for all features of an extension that is not offered.
bool has_feature(const OfferedExtension& row, const PhysicalDevice& gpu, uint32_t feature);

// Query types that the driver lacks and the layer emulates.
struct OfferedQueries {
  bool statistics = false;
  bool occlusion = false;
  bool mesh = false;
  bool transform_feedback = false;
  bool inherited = false;  // only if all of them are emulated
  // A pool belongs to no queue family. So if the driver has timestamps on some family, the layer
  // does not add them to others. For the same reason the setting has no effect if a family with
  // timestamps does not support compute.
  bool timestamps = false;
};
OfferedQueries offered_queries(const PhysicalDevice& gpu, const Options::ForcedQueries& forced);

// maxPushDataSize for the application: without the bytes that the layer may need for all its
// pointers, but no less than every driver has. 0: the driver's limit.
uint32_t offered_push_data(const PhysicalDevice& gpu);

}  // namespace tally::counters
