// What exists of a device where counters by region are enabled.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "catalogue/catalogue.h"
#include "counters/shader/region_programs.h"
#include "counters/state/buffer_ranges.h"
#include "counters/state/exclusive_mode.h"
#include "counters/state/options.h"
#include "counters/state/physical_device.h"
#include "vk/handle_map.h"

namespace tally::counters {

// The counters that a device has, in the catalogue's order.
std::vector<const catalogue::Counter*> region_counters(const PhysicalDevice& gpu);

// What the extension's properties say of a device.
struct RegionProperties {
  RegionSize size;
  uint32_t subgroup_size = 1;
  uint32_t counters = 0;          // that can be enabled at once: all
  uint32_t region_alignment = 1;  // so large that a region's bytes do not depend on the counters
  uint32_t row_alignment = 1;

  VkExtent2D extent() const { return {1u << size.width_log2, 1u << size.height_log2}; }
};
RegionProperties region_properties(const PhysicalDevice& gpu, const Options& options);

// What shaders may use to find their region.
spirv::RegionOptions region_options(const PhysicalDevice& gpu);

struct RegionState {
  RegionState(const MemoryContext& memory, const RegionProperties& device_properties,
              uint32_t push_offset)
      : properties(device_properties), programs(memory.device, *memory.next, push_offset) {}

  RegionProperties properties;
  RegionPrograms programs;
  BufferRanges buffers;
  CapturingQueue exclusive;
  vk::HandleMap<VkFramebuffer, uint32_t> framebuffer_layers;
};

}  // namespace tally::counters
