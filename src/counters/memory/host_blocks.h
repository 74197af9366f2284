// Small blocks of memory that the host writes and shaders read or write, for one recording. They
// are cut one after the other from pages of a pool in mode Host. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "counters/memory/record_pool.h"

namespace tally::counters {

struct HostBlock {
  const Chunk* chunk = nullptr;
  VkDeviceSize offset = 0;
  VkDeviceAddress address = 0;

  void write(VkDeviceSize at, const void* data, size_t size) const;
  uint32_t word(uint32_t index) const;
};

class HostBlocks {
 public:
  enum class Contents { Zero, Undefined };
  explicit HostBlocks(RecordPool& pool, Contents contents = Contents::Zero)
      : pool_(pool), contents_(contents) {}
  ~HostBlocks() { reset(); }
  HostBlocks(const HostBlocks&) = delete;
  HostBlocks& operator=(const HostBlocks&) = delete;

  // A block with these contents, aligned to 64 bytes.
  VkResult take(uint64_t bytes, HostBlock& block);
  // No command that uses a block may be pending.
  void reset();

 private:
  RecordPool& pool_;
  Contents contents_;
  std::vector<RecordPage> pages_;
  VkDeviceSize used_ = 0;  // of the last page
};

}  // namespace tally::counters
