// One buffer with dedicated memory. The record pool cuts pages from chunks; staging copies for the
// host use them too.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/base/options.h"

namespace tally::counters {

// A device's properties that memory management uses. Filled when the device is created, then read
// only.

// A queue of the device, with the flags that it was created with.
struct QueuePlace {
  uint32_t family = 0;
  uint32_t index = 0;
  VkDeviceQueueCreateFlags flags = 0;
};

struct MemoryContext {
  VkDevice device = VK_NULL_HANDLE;
  const DeviceTable* next = nullptr;
  VkPhysicalDeviceMemoryProperties memory{};
  VkDeviceSize non_coherent_atom_size = 1;
  VkDeviceSize uniform_offset_alignment = 256;
  // Families of the application's queues. Commands on all of them write records.
  std::vector<uint32_t> queue_families;
  RecordMemory mode = RecordMemory::Host;
  bool feedback_counters = false;  // transform feedback may store its counters in records
  bool conditions = false;         // conditional rendering may read from records
  // The processor does not cache records: the GPU gathers them (instrumentation/gather.h).
  bool gathers = false;
  VkDeviceSize limit = 0;  // bytes of all records together; 0: no limit
  PFN_vkSetDeviceLoaderData set_loader_data = nullptr;

  // A queue that the layer may use.
  VkQueue find_queue(const QueuePlace& place) const {
    VkQueue queue = VK_NULL_HANDLE;
    if (place.flags == 0) {
      next->GetDeviceQueue(device, place.family, place.index, &queue);
    } else {
      const VkDeviceQueueInfo2 info{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_INFO_2,
                                    .flags = place.flags,
                                    .queueFamilyIndex = place.family,
                                    .queueIndex = place.index};
      next->GetDeviceQueue2(device, &info, &queue);
    }
    if (set_loader_data) set_loader_data(device, queue);
    return queue;
  }

  // Mode Device only: the queue for copies. The mutex guards it, against calls of the application
  // too.
  VkQueue transfer_queue = VK_NULL_HANDLE;
  uint32_t transfer_family = 0;
  std::mutex* transfer_queue_mutex = nullptr;
};

// Selects memory types for records.

// Replaces Auto by Host or Device, as the device's memory suggests.
RecordMemory resolve_record_memory(RecordMemory wanted,
                                   const VkPhysicalDeviceMemoryProperties& memory);

// For mode Host: mappable memory. Prefers device-local, then coherent, then cached memory.
std::optional<uint32_t> host_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                         uint32_t allowed);

// True if the processor caches the memory of mode Host.
bool caches_host_records(const VkPhysicalDeviceMemoryProperties& memory);

// For mode Device: device-local memory. Prefers memory that is not host-visible.
std::optional<uint32_t> device_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                           uint32_t allowed);

// For copies that the host reads. Prefers cached memory.
std::optional<uint32_t> staging_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                            uint32_t allowed);

class Chunk {
 public:
  enum class Use {
    HostRecords,    // mapped; shaders write through the address, and the GPU fills it
    HostResults,    // the same, in host-cached memory
    DeviceRecords,  // device-local; shaders write through the address, and the GPU fills and copies
                    // it
    Staging,        // mapped; the GPU copies to it
    Words,          // mapped and coherent; record pointers that shaders read as a uniform buffer
    Preprocess,     // device-local; the driver preprocesses generated commands in it
  };

  // Null, with the reason in `result`, if there is no memory. The contents are undefined. The
  // memory is of one of the types in `allowed_types`.
  static std::unique_ptr<Chunk> create(const MemoryContext& context, Use use, VkDeviceSize size,
                                       VkResult& result, uint32_t allowed_types = ~0u);
  ~Chunk();
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  VkBuffer buffer() const { return buffer_; }
  VkDeviceSize size() const { return size_; }
  VkDeviceAddress address() const { return address_; }  // 0 for staging and words
  std::byte* host() const { return host_; }             // null unless mapped

  bool coherent() const { return coherent_; }
  bool cached() const { return cached_; }  // by the processor
  // No effect on coherent memory. The range is extended to multiples of nonCoherentAtomSize.
  void invalidate(VkDeviceSize offset, VkDeviceSize size) const;
  void flush(VkDeviceSize offset, VkDeviceSize size) const;

 private:
  explicit Chunk(const MemoryContext& context) : context_(context) {}
  VkResult initialize(Use use, VkDeviceSize size, uint32_t allowed_types);
  VkResult allocate(Use use, uint32_t allowed_types);
  VkMappedMemoryRange range(VkDeviceSize offset, VkDeviceSize size) const;

  const MemoryContext& context_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkDeviceSize size_ = 0;
  VkDeviceSize allocated_ = 0;
  VkDeviceAddress address_ = 0;
  std::byte* host_ = nullptr;
  bool coherent_ = true;
  bool cached_ = true;
};

// Reads of memory that the processor does not cache, which device memory usually is: each load
// fetches its data over the bus.

// Copies the words to `target`. Loads whole cache lines where the processor can.
void copy_uncached(std::span<const uint64_t> source, uint64_t* target);

}  // namespace tally::counters
