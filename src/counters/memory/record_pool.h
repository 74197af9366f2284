// The device's memory for counter records: chunks of a few MiB, cut into blocks, handed out as
// pages that are all zero. Thread-safe; a page belongs to whoever took it. Commands never come here
// one by one: a recording takes a page and cuts records from it.
//
// Mode Host: pages are mapped; zeroed by the host when taken. Mode Device: zeroed by the GPU ahead
// of time, read by a copy.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "counters/memory/chunk.h"
#include "counters/memory/transfer.h"

namespace tally::counters {

struct RecordPage {
  Chunk* chunk = nullptr;
  VkDeviceSize offset = 0;  // in the chunk
  VkDeviceSize size = 0;
  VkDeviceAddress address = 0;  // of its first byte; a multiple of probe::kShardAlignment
};

// What pages held when they were read.
class RecordSnapshot {
 public:
  std::span<const uint64_t> page(size_t index) const { return pages_[index]; }

 private:
  friend class RecordPool;
  std::vector<std::span<const uint64_t>> pages_;
  std::unique_ptr<Chunk> staging_;
};

class RecordPool {
 public:
  static constexpr VkDeviceSize kBlockBytes = 64 * 1024;

  explicit RecordPool(const MemoryContext& context);
  ~RecordPool();
  RecordPool(const RecordPool&) = delete;
  RecordPool& operator=(const RecordPool&) = delete;

  // A zeroed page of at least `bytes`.
  VkResult acquire(VkDeviceSize bytes, RecordPage& page);
  // No command that writes to the page may be pending.
  void release(const RecordPage& page);

  VkResult clear(std::span<const RecordPage> pages);
  VkResult read(std::span<const RecordPage> pages, RecordSnapshot& snapshot);

 private:
  struct Slab {
    std::unique_ptr<Chunk> chunk;
    uint64_t blocks = 0;   // those that exist
    uint64_t free = 0;     // not handed out
    uint64_t dirty = 0;    // mode Device: to be zeroed before use
    uint64_t zeroing = 0;  // mode Device: dirty ones that the job zeroes
    std::optional<Transfer::Job> job;
  };

  bool on_device() const { return context_.mode == RecordMemory::Device; }
  VkResult add_slab(uint32_t wanted_blocks);
  bool take_run(uint32_t count, RecordPage& page);
  RecordPage make_page(Slab& slab, uint32_t first, uint32_t count);
  Slab* slab_of(const RecordPage& page);

  // Mode Device.
  VkResult start_zeroing(Slab& slab);
  VkResult finish_zeroing(Slab& slab);
  VkResult find_clean_run(uint32_t count, RecordPage& page);
  Slab* find_slab(uint32_t count, bool being_zeroed) const;
  static bool can_hold(const Slab& slab, uint32_t count);
  void zero_ahead();

  const MemoryContext& context_;
  std::unique_ptr<Transfer> transfer_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Slab>> slabs_;
  VkDeviceSize total_ = 0;
};

}  // namespace tally::counters
