// What the memory of one device needs to know of it. Filled once by the device, then read only.
#pragma once

#include <mutex>
#include <vector>

#include "counters/layer/device_table.h"

namespace tally::counters {

enum class RecordMemory {
  Auto,    // Host where the device has memory that is both local and visible, else Device
  Host,    // host-visible, mapped for good
  Device,  // device-local; copied by the GPU when values are read
};

struct MemoryContext {
  VkDevice device = VK_NULL_HANDLE;
  const DeviceTable* next = nullptr;
  VkPhysicalDeviceMemoryProperties memory{};
  VkDeviceSize non_coherent_atom_size = 1;
  VkDeviceSize uniform_offset_alignment = 256;
  // Families that the application has queues of: records are written from all of them.
  std::vector<uint32_t> queue_families;
  RecordMemory mode = RecordMemory::Host;
  bool feedback_counters = false;  // transform feedback may leave its counters in records
  bool conditions = false;         // conditional rendering may read words in records
  VkDeviceSize limit = 0;          // of all records together in bytes; 0: what the device has
  PFN_vkSetDeviceLoaderData set_loader_data = nullptr;

  // Only in mode Device: where copies run. The mutex is held by whoever calls into the queue, the
  // application included.
  VkQueue transfer_queue = VK_NULL_HANDLE;
  uint32_t transfer_family = 0;
  std::mutex* transfer_queue_mutex = nullptr;
};

}  // namespace tally::counters
