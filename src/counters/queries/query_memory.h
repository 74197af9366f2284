// GPU memory for the queries of one recording, cut one piece after the other from pages of the
// device's record pool. Used by one thread at a time.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "counters/memory/record_pool.h"
#include "probe/record.h"

namespace tally::counters {

struct QuerySpace {
  VkDeviceAddress address = 0;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;  // in the buffer
};

class QueryMemory {
 public:
  explicit QueryMemory(RecordPool& pool) : pool_(pool) {}
  ~QueryMemory() { reset(); }
  QueryMemory(const QueryMemory&) = delete;
  QueryMemory& operator=(const QueryMemory&) = delete;

  // Zeroed memory, aligned for records with any number of shards, or with this number.
  VkResult reserve(uint64_t bytes, QuerySpace& space) {
    return reserve(bytes, probe::kShardAlignment, space);
  }
  VkResult reserve_record(uint64_t bytes, uint32_t shards_log2, QuerySpace& space) {
    return reserve(bytes, shards_log2 == 0 ? probe::kRecordAlignment : probe::kShardAlignment,
                   space);
  }
  // A zeroed page that is not shared with other reservations.
  VkResult reserve_page(uint64_t bytes, RecordPage& page);
  // No command that uses the memory may be pending.
  void reset();

 private:
  VkResult reserve(uint64_t bytes, uint64_t alignment, QuerySpace& space);

  RecordPool& pool_;
  std::vector<RecordPage> pages_;
  VkDeviceSize used_ = 0;  // of the last page
};

}  // namespace tally::counters
