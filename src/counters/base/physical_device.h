// The facts of a physical device, which the driver is asked for once. The offer of the layer
// follows from them in layer/offered_extensions.h, the needs of the driver in driver_profile.h.
#pragma once

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include <string>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/base/messages.h"
#include "counters/base/options.h"
#include "vk/handles.h"
#include "vk/own_call.h"

namespace tally::counters {

struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
  std::vector<VkQueueFamilyProperties> queue_families;
  std::vector<VkExtensionProperties> extensions;  // of the driver and the layers below

  uint32_t api_version = VK_API_VERSION_1_0;  // the lower version of device and instance
  bool buffer_device_address = false;
  bool vertex_stores = false;
  bool fragment_stores = false;
  bool int64 = false;
  bool int64_atomics = false;
  bool wide_subgroups = false;  // shaderSubgroupExtendedTypes
  bool geometry_shader = false;
  bool tessellation_shader = false;
  bool multiview = false;
  bool subgroup_clock = false;  // VK_KHR_shader_clock's
  bool maximal_reconvergence = false;
  bool sm_builtins = false;  // VK_NV_shader_sm_builtins's
  bool device_clock = false;
  bool conditional_rendering = false;
  VkDriverId driver_id{};     // 0: unknown
  uint32_t mesa_version = 0;  // as an API version, without the patch; 0: not Mesa
  uint32_t subgroup_size = 1;
  VkShaderStageFlags subgroup_stages = 0;  // with basic, vote, ballot and arithmetic operations

  // The driver implements VK_ARM_shader_instrumentation, and no setting forces emulation.
  bool native = false;
  // The same for VK_ARM_performance_counters_by_region.
  bool native_regions = false;
  // The same for VK_KHR_performance_query and VK_INTEL_performance_query. The driver's counters of
  // the former are enumerated before the layer's; driver_counters has their number by queue family.
  bool native_performance_queries = false;
  std::vector<uint32_t> driver_counters;
  bool native_intel_queries = false;
  bool native_elapsed_timer = false;  // VK_QCOM_elapsed_timer_query
  // Query types that the driver supports.
  bool statistics_query = false;
  bool precise_occlusion = false;
  bool inherited_queries = false;
  bool host_query_reset = false;
  bool cache_control = false;  // pipelineCreationCacheControl
  bool timeline_semaphores = false;
  bool mesh_queries = false;
  bool mesh_shader = false;
  bool primitives_generated_query = false;
  bool transform_feedback = false;
  bool transform_feedback_queries = false;
  uint32_t max_push_data = 0;  // of VK_EXT_descriptor_heap, without a part of 8 bytes; 0: none
  // The features that instrumentation lacks on this device, by their Vulkan names. If empty, the
  // layer offers its extensions.
  std::vector<std::string> missing;

  bool has_extension(const char* name) const;
  uint32_t driver_counters_of(uint32_t family) const {
    return family < driver_counters.size() ? driver_counters[family] : 0;
  }
};

// `instance_version`: the apiVersion of the instance, as raised by the layer.
PhysicalDevice inspect_physical_device(const InstanceTable& next, VkPhysicalDevice handle,
                                       uint32_t instance_version, bool force_emulation);

// A device's properties that every part of the layer may use. Filled when the device is created,
// then read only.

struct DeviceContext {
  VkDevice handle;
  const DeviceTable& next;
  const PhysicalDevice& gpu;
  const Options& options;
  Messages& messages;
  PFN_vkSetDeviceLoaderData set_loader_data;  // null where the loader does not provide it

  uint64_t handle_bits() const { return vk::handle_bits(handle); }
  // Says what the layer does without a call of its own. Nothing if no call failed.
  void report(const vk::OwnFailure& failure, const char* what_it_does) const;
};

}  // namespace tally::counters
