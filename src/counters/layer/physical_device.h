// A physical device as this layer needs to see it: what the instrumentation can use, and what is
// missing for it. Made when the instance is first asked about the device, then immutable.
#pragma once

#include <vulkan/vulkan_core.h>

#include <string>
#include <vector>

#include "counters/layer/device_table.h"
#include "counters/layer/options.h"

namespace tally::counters {

struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
  std::vector<VkQueueFamilyProperties> queue_families;
  std::vector<VkExtensionProperties> extensions;  // the driver's and the lower layers'

  uint32_t api_version = VK_API_VERSION_1_0;  // lower of the device's and the instance's
  bool buffer_device_address = false;
  bool vertex_stores = false;
  bool fragment_stores = false;
  bool int64 = false;
  bool int64_atomics = false;
  bool geometry_shader = false;
  bool tessellation_shader = false;
  bool multiview = false;
  bool subgroup_clock = false;  // VK_KHR_shader_clock's
  bool device_clock = false;
  bool conditional_rendering = false;
  bool primitives_asked_for = false;  // by the setting region_primitives
  VkDriverId driver_id{};             // 0 where it is not told
  uint32_t subgroup_size = 1;
  VkShaderStageFlags subgroup_stages = 0;  // with basic, vote, ballot and arithmetic operations

  // Whether the driver implements VK_ARM_shader_instrumentation itself, and we let it.
  bool native = false;
  // The same of VK_ARM_performance_counters_by_region.
  bool native_regions = false;
  // The same of VK_KHR_performance_query and VK_INTEL_performance_query. The driver's counters of
  // the former come before the layer's: how many they are, by queue family.
  bool native_performance_queries = false;
  std::vector<uint32_t> driver_counters;
  bool native_intel_queries = false;
  // What the driver has of the chapter on queries.
  bool statistics_query = false;
  bool precise_occlusion = false;
  bool inherited_queries = false;
  bool mesh_queries = false;
  bool mesh_shader = false;
  bool primitives_generated_query = false;
  bool transform_feedback = false;
  bool transform_feedback_queries = false;
  // What instrumentation lacks on this device, in Vulkan's words; empty where the
  // extensions are offered.
  std::vector<std::string> missing;

  bool has_extension(const char* name) const;
  bool offers_emulation() const { return !native && missing.empty(); }
  // Queries that the driver lacks and the layer emulates.
  bool offers_queries() const { return missing.empty(); }
  bool offers_statistics() const { return offers_queries() && !statistics_query; }
  bool offers_occlusion() const { return offers_queries() && !precise_occlusion; }
  bool offers_mesh_queries() const { return offers_queries() && mesh_shader && !mesh_queries; }
  bool offers_primitives_generated() const {
    return offers_queries() && !primitives_generated_query;
  }
  // Where the driver has timestamps on some queue family, families without stay as they are: a pool
  // belongs to no family. For the same reason the setting emulates none where a family has the
  // driver's that cannot run the shader.
  bool emulates_timestamps(const Options::ForcedQueries& forced) const;
  bool offers_transform_feedback_queries() const {
    return offers_queries() && transform_feedback && !transform_feedback_queries;
  }
  // With all of them emulated, whatever the driver says.
  bool offers_inherited_queries(const Options::ForcedQueries& forced) const {
    return offers_queries() && forced.statistics && forced.occlusion && forced.primitives_generated;
  }
  bool counts_subgroup_clock() const {
    return subgroup_clock && (subgroup_stages & VK_SHADER_STAGE_FRAGMENT_BIT) != 0;
  }
  bool counts_primitives() const {
    return geometry_shader && int64_atomics && (primitives_asked_for || skips_branches());
  }
  // Old llvmpipe runs branches that no lane takes: code for primitives that nobody wants would
  // cost.
  bool skips_branches() const {
    return driver_id != VK_DRIVER_ID_MESA_LLVMPIPE ||
           properties.driverVersion >= VK_MAKE_API_VERSION(0, 25, 0, 0);
  }
  bool offers_regions() const { return !native_regions && missing.empty(); }
  bool offers_performance_queries() const { return missing.empty(); }
  uint32_t driver_counters_of(uint32_t family) const {
    return family < driver_counters.size() ? driver_counters[family] : 0;
  }
  bool offers_intel_queries() const { return !native_intel_queries && missing.empty(); }
};

// `instance_version`: the apiVersion that the instance was created with, after this layer raised
// it.
PhysicalDevice inspect_physical_device(const InstanceTable& next, VkPhysicalDevice handle,
                                       uint32_t instance_version, bool force_emulation);

}  // namespace tally::counters
