// What exists of a device where counters by region are enabled.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "catalogue/catalogue.h"
#include "counters/layer/options.h"
#include "counters/layer/physical_device.h"
#include "counters/memory/record_pool.h"
#include "counters/objects/buffer_ranges.h"
#include "counters/regions/exclusive_mode.h"
#include "counters/shader/region_programs.h"
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
  uint32_t primitives_log2 = 0;  // of a region that count exactly

  VkExtent2D extent() const { return {1u << size.width_log2, 1u << size.height_log2}; }
};
RegionProperties region_properties(const PhysicalDevice& gpu, const Options& options);

// What shaders may use to find their region.
spirv::RegionOptions region_options(const PhysicalDevice& gpu);

// Memory for the sets of primitives of all passes that count them: it only grows.
class PrimitiveTables {
 public:
  explicit PrimitiveTables(RecordPool& pool) : pool_(pool) {}
  VkResult find(uint64_t bytes, RecordPage& page);

 private:
  RecordPool& pool_;
  std::mutex mutex_;
  RecordPage largest_;
};

struct RegionState {
  RegionState(const MemoryContext& memory, RecordPool& pool,
              const RegionProperties& device_properties, uint32_t push_offset)
      : properties(device_properties),
        programs(memory.device, *memory.next, push_offset),
        primitive_tables(pool) {}
  // The first of `count` numbers that no other draw has, none of them 0.
  uint32_t take_packed_draw_indices(uint32_t count) {
    const uint32_t first = next_draw_.fetch_add(count);
    return first != 0 ? first : next_draw_.fetch_add(count);
  }

  RegionProperties properties;
  RegionPrograms programs;
  PrimitiveTables primitive_tables;
  BufferRanges buffers;
  CapturingQueue exclusive;
  vk::HandleMap<VkFramebuffer, uint32_t> framebuffer_layers;

 private:
  std::atomic<uint32_t> next_draw_ = 0;
};

}  // namespace tally::counters
