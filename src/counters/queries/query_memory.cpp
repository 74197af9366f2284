#include "counters/queries/query_memory.h"

namespace tally::counters {

VkResult QueryMemory::reserve(uint64_t bytes, uint64_t alignment, QuerySpace& space) {
  used_ = probe::align_up(used_, alignment);
  if (pages_.empty() || used_ > pages_.back().size || pages_.back().size - used_ < bytes) {
    RecordPage page;
    const VkResult result = reserve_page(bytes, page);
    if (result != VK_SUCCESS) return result;
    used_ = 0;
  }
  const RecordPage& page = pages_.back();
  space = {page.address + used_, page.chunk->buffer(), page.offset + used_};
  used_ += bytes;
  return VK_SUCCESS;
}

VkResult QueryMemory::reserve_page(uint64_t bytes, RecordPage& page) {
  const VkResult result = pool_.acquire(bytes, page);
  if (result != VK_SUCCESS) return result;
  pages_.push_back(page);
  used_ = page.size;
  return VK_SUCCESS;
}

void QueryMemory::reset() {
  for (const RecordPage& page : pages_) pool_.release(page);
  pages_.clear();
  used_ = 0;
}

}  // namespace tally::counters
