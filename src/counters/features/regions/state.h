// Finds the application's buffer that contains a device address, among the buffers whose address it
// has queried. Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "catalogue/catalogue.h"
#include "counters/base/physical_device.h"
#include "counters/features/regions/exclusive_mode.h"
#include "counters/memory/device_memory.h"
#include "counters/shaders/internal_pipelines.h"
#include "vk/handles.h"

namespace tally::counters {

class BufferRanges {
 public:
  void created(VkBuffer buffer, VkDeviceSize size) {
    const std::lock_guard lock(mutex_);
    buffers_[buffer] = {size, 0};
  }

  void addressed(VkBuffer buffer, VkDeviceAddress address) {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end() || address == 0) return;
    found->second.address = address;
    ranges_[address] = buffer;
  }

  void destroyed(VkBuffer buffer) {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return;
    const auto range = ranges_.find(found->second.address);
    if (range != ranges_.end() && range->second == buffer) ranges_.erase(range);
    buffers_.erase(found);
  }

  // The number of bytes from the address to the end of its buffer; 0 if no buffer contains it.
  VkDeviceSize bytes_from(VkDeviceAddress address) const {
    const std::lock_guard lock(mutex_);
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return 0;
    --range;
    const VkDeviceSize offset = address - range->first;
    const VkDeviceSize size = buffers_.at(range->second).size;
    return offset < size ? size - offset : 0;
  }

 private:
  struct Buffer {
    VkDeviceSize size;
    VkDeviceAddress address;
  };
  mutable std::mutex mutex_;
  std::unordered_map<VkBuffer, Buffer> buffers_;  // buffers that may have an address
  std::map<VkDeviceAddress, VkBuffer> ranges_;
};

// State of a device with counters by region.

bool counts_subgroup_clock(const PhysicalDevice& gpu);
bool counts_primitives(const PhysicalDevice& gpu, const Options& options);
// The counters that a device supports, in the order of the catalogue.
std::vector<const catalogue::Counter*> region_counters(const PhysicalDevice& gpu,
                                                       const Options& options);

// The properties of VK_ARM_performance_counters_by_region.
struct RegionProperties {
  RegionSize size;
  uint32_t subgroup_size = 1;
  uint32_t counters = 0;          // maxPerRegionPerformanceCounters: all counters
  uint32_t region_alignment = 1;  // the size of a region with all counters enabled
  uint32_t row_alignment = 1;
  uint32_t primitives_log2 = 0;  // up to so many primitives in a region are counted exactly

  VkExtent2D extent() const { return {1u << size.width_log2, 1u << size.height_log2}; }
};
RegionProperties region_properties(const PhysicalDevice& gpu, const Options& options);

// The counters by region that shaders of the device support.
spirv::RegionOptions region_options(const PhysicalDevice& gpu, const Options& settings);

// Memory for the sets of primitives, shared by all passes that count them. Never shrinks.
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
  RegionState(const DeviceContext& device_context, DeviceMemory& device_memory,
              const PushOffsets& offsets)
      : device(device_context),
        memory(device_memory),
        properties(region_properties(device.gpu, device.options)),
        counts_primitives(counters::counts_primitives(device.gpu, device.options)),
        programs(device.handle, device.next, offsets),
        primitive_tables(memory.records) {}

  // The first of `count` consecutive draw numbers. A number is unique on the device and never 0.
  uint32_t take_draw_numbers(uint32_t count) {
    const uint32_t first = next_draw_.fetch_add(count);
    return first != 0 ? first : next_draw_.fetch_add(count);
  }

  const DeviceContext& device;
  DeviceMemory& memory;
  const RegionProperties properties;
  const bool counts_primitives;
  RegionPrograms programs;
  PrimitiveTables primitive_tables;
  BufferRanges buffers;
  CapturingQueue exclusive;
  vk::HandleMap<VkFramebuffer, uint32_t> framebuffer_layers;

 private:
  std::atomic<uint32_t> next_draw_ = 0;
};

}  // namespace tally::counters
