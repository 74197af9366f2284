// The memory that the layer uses on one device. Each pool is thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "counters/memory/record_pool.h"
#include "counters/memory/word_pool.h"
#include "spirv/plan/options.h"

namespace tally::counters {

// Small blocks of memory that the host writes and shaders read or write, for one recording. They
// are cut one after the other from pages of a pool in mode Host. Used by one thread at a time.

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

struct DeviceMemory {
  explicit DeviceMemory(const MemoryContext& memory_context)
      : context(memory_context),
        host_context(in_host_memory(memory_context)),
        records(context),
        host_pages(host_context),
        results(host_context, Chunk::Use::HostResults),
        words(context) {
    context.transfer_queue_mutex = &queue_mutex;
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  MemoryContext context;
  MemoryContext host_context;  // the same device, always in host-visible memory
  std::mutex queue_mutex;      // locked only where shares_queue()
  RecordPool records;
  RecordPool host_pages;
  RecordPool results;  // what the GPU gathers from records; in memory that the processor caches
  WordPool words;

  // True if the layer copies records on a queue that the application may use too.
  bool shares_queue() const { return context.mode == RecordMemory::Device; }

 private:
  static MemoryContext in_host_memory(MemoryContext memory) {
    memory.mode = RecordMemory::Host;
    memory.gathers = false;
    return memory;
  }
};

// Memory for the sets, all zeros; sets the address. Null if there is none.
std::unique_ptr<Chunk> make_lane_sets(const MemoryContext& context, spirv::LaneSets& sets);

}  // namespace tally::counters
