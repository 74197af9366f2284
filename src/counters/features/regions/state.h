// Finds the application's buffer that contains a device address, among the buffers whose address it
// has queried. Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "catalogue/counter.h"
#include "counters/base/physical_device.h"
#include "counters/features/regions/exclusive_mode.h"
#include "counters/memory/device_memory.h"
#include "counters/shaders/internal_objects.h"
#include "probe/region.h"
#include "vk/handles.h"
#include "vk/region_draws.h"

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

  struct Place {
    VkBuffer buffer = VK_NULL_HANDLE;  // null: no buffer contains the address
    VkDeviceSize offset = 0;
    VkDeviceSize bytes = 0;  // from there to the buffer's end
  };
  Place find(VkDeviceAddress address) const {
    const std::lock_guard lock(mutex_);
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return {};
    --range;
    const VkDeviceSize offset = address - range->first;
    const VkDeviceSize size = buffers_.at(range->second).size;
    return offset < size ? Place{range->second, offset, size - offset} : Place{};
  }
  // The number of bytes from the address to the end of its buffer; 0 if no buffer contains it.
  VkDeviceSize bytes_from(VkDeviceAddress address) const { return find(address).bytes; }

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

// The accumulators of single draws, which are zeros while no pass counts into them, shared by all
// passes. Never shrinks.
class DrawAccumulators {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

  // The memory that a pass has taken.
  struct Taken {
    size_t page = 0;
    uint64_t bytes = 0;  // of that page
  };

  explicit DrawAccumulators(RecordPool& pool) : pool_(pool) {}
  // The next ones of a pass. Returns 0 if there is no memory left for them.
  VkDeviceAddress take(uint64_t bytes, Taken& taken);

 private:
  RecordPool& pool_;
  std::mutex mutex_;
  std::vector<RecordPage> pages_;
  uint64_t allocated_ = 0;
};

struct RegionState {
  RegionState(const DeviceContext& device_context, DeviceMemory& device_memory,
              const PushOffsets& offsets)
      : device(device_context),
        memory(device_memory),
        properties(region_properties(device.gpu, device.options)),
        counts_primitives(counters::counts_primitives(device.gpu, device.options)),
        programs(device.handle, device.next, offsets),
        primitive_tables(memory.records),
        draw_accumulators(memory.records) {}

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
  DrawAccumulators draw_accumulators;
  BufferRanges buffers;
  CapturingQueue exclusive;
  vk::HandleMap<VkFramebuffer, uint32_t> framebuffer_layers;

 private:
  std::atomic<uint32_t> next_draw_ = 0;
};

// Counts by region of single draws (vk/region_draws.h): a draw has a block of its own, whose
// accumulators are added to those of the pass after it.

// The list of a pass's draws; without a buffer, there is none.
struct DrawListPlace {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  VkDeviceAddress address = 0;
  uint32_t capacity = 0;  // entries
};
// The list that the chain of a pass asks for, if it lies in a buffer.
DrawListPlace find_draw_list(const BufferRanges& buffers, const void* chain, uint32_t counters);

// The draws of a pass that have a block and accumulators of their own, as the GPU reads them
// (glsl/region_draws.comp). The other draws use those of the pass.
class RegionDraws {
 public:
  // Lists the draws of a subpass, whose block is at `block`; at most kMaxDraws in all.
  VkResult create(HostBlocks& memory, const DrawListPlace& place, VkDeviceAddress block);

  void count_draw() { ++draws_; }
  // Copies the block for the draw that was counted last, with accumulators of so many bytes.
  // Address 0: the draw has no block of its own.
  VkResult make_block(DrawAccumulators& accumulators, HostBlocks& memory, probe::RegionBlock copy,
                      uint64_t bytes, uint32_t subpass, VkDeviceAddress& block);
  void enable(uint32_t wanted) const;
  vk::RegionDrawsHeader header() const;
  // The list of a subpass; 0 if none of its draws has a block.
  VkDeviceAddress list(uint32_t subpass) const;

 private:
  static constexpr uint32_t kMaxDraws = 1024;
  struct List {
    HostBlock block;
    uint32_t count = 0;
  };

  std::vector<List> lists_;        // by subpass
  std::vector<HostBlock> blocks_;  // of draws
  DrawAccumulators::Taken taken_;
  uint32_t draws_ = 0;
};

}  // namespace tally::counters
