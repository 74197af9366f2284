// A device's properties that memory management uses. Filled when the device is created, then read
// only.
#pragma once

#include <mutex>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/base/options.h"

namespace tally::counters {

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

}  // namespace tally::counters
