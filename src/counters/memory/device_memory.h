// The memory that the layer uses on one device. Each pool is thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "counters/memory/chunk.h"
#include "counters/memory/record_pool.h"
#include "spirv/plan/options.h"

namespace tally::counters {

// Record pointers for pipelines that read them through the reserved descriptor set. Each chunk is a
// uniform buffer with one descriptor set. The dynamic offset selects a pair of words: the pointer
// to the record and the pointer to the region's accumulators. Thread-safe.

// Memory for `count` pairs of words, `stride` bytes apart.
struct WordPage {
  Chunk* chunk = nullptr;
  VkDescriptorSet set = VK_NULL_HANDLE;
  uint32_t offset = 0;
  uint32_t stride = 0;
  uint32_t count = 0;

  uint32_t dynamic_offset(uint32_t index) const { return offset + index * stride; }
  void write(uint32_t index, uint64_t record, uint64_t region) const;
};

class WordPool {
 public:
  explicit WordPool(const MemoryContext& context) : context_(context) {}
  ~WordPool();
  WordPool(const WordPool&) = delete;
  WordPool& operator=(const WordPool&) = delete;

  // The layout of the reserved set: one dynamic uniform buffer, visible to every stage. Null if the
  // driver fails to create it.
  VkDescriptorSetLayout set_layout();
  // A set layout without bindings, for sets between the application's and the reserved one.
  VkDescriptorSetLayout empty_layout();

  // Allocates null_word(). Call before its first use.
  VkResult prepare();
  // A pair of words that are always 0.
  WordPage null_word();

  VkResult acquire(WordPage& page);
  void release(const WordPage& page);

 private:
  struct Slab {
    std::unique_ptr<Chunk> chunk;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    VkDescriptorSet set = VK_NULL_HANDLE;
    uint64_t free = 0;
  };

  VkDescriptorSetLayout layout_locked();
  VkResult acquire_locked(WordPage& page);
  VkResult add_slab();
  VkResult make_set(Slab& slab);

  const MemoryContext& context_;
  std::mutex mutex_;  // guards what follows
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout empty_layout_ = VK_NULL_HANDLE;
  std::vector<Slab> slabs_;
  WordPage null_word_;
};

// Record pointers for one recording, cut one after the other from pages of the device's word pool.
// Used by one thread at a time.

class WordPages {
 public:
  explicit WordPages(WordPool& pool) : pool_(pool) {}
  ~WordPages() { reset(); }
  WordPages(const WordPages&) = delete;
  WordPages& operator=(const WordPages&) = delete;

  // The next pair of words: entry `index` of `page`.
  VkResult next(WordPage& page, uint32_t& index);
  // No command that uses a word may be pending.
  void reset();

 private:
  WordPool& pool_;
  std::vector<WordPage> pages_;
  uint32_t used_ = 0;  // of the last page
};

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
