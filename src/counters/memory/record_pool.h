// The device's memory for counter records: chunks of a few MiB, divided into blocks. acquire()
// returns a zeroed page of one or more blocks, which belongs to the caller. A recording acquires a
// page and cuts records from it, so that single commands never lock the pool. Thread-safe.
//
// Mode Host: pages are mapped, and the host zeroes them when they are acquired, or their caller
// does it piece by piece. Mode Device: the GPU zeroes pages ahead of time, and the host reads a
// copy. Where the GPU gathers records (MemoryContext::gathers), it leaves zeros: their pages come
// back clean and need no other zeroing.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "counters/memory/chunk.h"

namespace tally::counters {

// The blocks of a chunk, up to 64, as bits of one word.

// `count` ones from bit `first` upward; first + count <= 64.
constexpr uint64_t block_run(uint32_t first, uint32_t count) {
  const uint64_t ones = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  return ones << first;
}

// The lowest run of `count` ones in `mask`, or -1.
constexpr int find_block_run(uint64_t mask, uint32_t count) {
  // After the loop a bit is set where `count` ones begin.
  uint64_t starts = mask;
  for (uint32_t i = 1; i < count && starts != 0; ++i) starts &= mask >> i;
  return starts == 0 ? -1 : std::countr_zero(starts);
}

// The GPU work of mode Device: zeroes records and copies them to host-visible memory. Every job is
// one submission, so that a caller waits for its own job alone. Thread-safe.

class Transfer {
 public:
  explicit Transfer(const MemoryContext& context) : context_(context) {}
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // A submitted job. Pass every job to finish().
  struct Job {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
  };

  // Submits what `record` records, between barriers against shader writes before and after.
  VkResult submit(const std::function<void(VkCommandBuffer)>& record, Job& job);
  bool done(const Job& job) const;
  // Waits for the job and recycles its objects.
  VkResult finish(const Job& job);

  VkResult run(const std::function<void(VkCommandBuffer)>& record);

 private:
  VkResult take_idle_job(Job& job);
  VkResult record_job(const Job& job, const std::function<void(VkCommandBuffer)>& record);

  const MemoryContext& context_;
  std::mutex mutex_;  // guards the pool (recording included) and idle_
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<Job> idle_;
};

struct RecordPage {
  Chunk* chunk = nullptr;
  VkDeviceSize offset = 0;  // in the chunk
  VkDeviceSize size = 0;
  VkDeviceAddress address = 0;  // of its first byte; a multiple of probe::kShardAlignment
};

// The contents of a page at the time of the read.
struct PageWords {
  std::span<const uint64_t> words;
  bool cached = true;  // by the processor. Otherwise read them with copy_uncached().
};

class RecordSnapshot {
 public:
  // In the order in which they were read.
  std::span<const PageWords> pages() const { return pages_; }

 private:
  friend class RecordPool;
  std::vector<PageWords> pages_;
  std::vector<std::unique_ptr<Chunk>> staging_;
};

class RecordPool {
 public:
  static constexpr VkDeviceSize kBlockBytes = 64 * 1024;
  // So many bytes of slabs without acquired pages are kept: a program that waits for each
  // submission empties all slabs each time.
  static constexpr VkDeviceSize kMaxIdleBytes = 32 * 1024 * 1024;

  // `use`: of the memory in mode Host.
  explicit RecordPool(const MemoryContext& context, Chunk::Use use = Chunk::Use::HostRecords);
  ~RecordPool();
  RecordPool(const RecordPool&) = delete;
  RecordPool& operator=(const RecordPool&) = delete;

  // A zeroed page of at least `bytes`.
  VkResult acquire(VkDeviceSize bytes, RecordPage& page);
  // A page of which only the first `zeroed_bytes()` bytes are zero.
  VkResult acquire_undefined(VkDeviceSize bytes, RecordPage& page);
  VkDeviceSize zeroed_bytes(const RecordPage& page) const { return knows_dirt() ? page.size : 0; }
  // Mode Host.
  static void zero(const RecordPage& page, VkDeviceSize begin, VkDeviceSize end);
  // No command that writes to the page may be pending. `clean`: the page is all zeros, as it was
  // acquired.
  void release(const RecordPage& page, bool clean = false);

  VkResult clear(std::span<const RecordPage> pages);
  // Adds the pages to the snapshot.
  VkResult read(std::span<const RecordPage> pages, RecordSnapshot& snapshot);

 private:
  struct Slab {
    std::unique_ptr<Chunk> chunk;
    // Block masks.
    uint64_t blocks = 0;   // existing blocks
    uint64_t free = 0;     // not acquired
    uint64_t dirty = 0;    // must be zeroed before use; where knows_dirt()
    uint64_t zeroing = 0;  // mode Device: dirty blocks that the pending job zeroes
    std::optional<Transfer::Job> job;
  };

  bool on_device() const { return context_.mode == RecordMemory::Device; }
  bool knows_dirt() const { return on_device() || context_.gathers; }
  VkResult add_slab(uint32_t wanted_blocks);
  // From blocks that are not dirty, or from any.
  bool take_run(uint32_t count, bool clean, RecordPage& page);
  // Frees slabs without acquired pages, all but `max_bytes` of them. Frees large ones always.
  void free_idle(VkDeviceSize max_bytes);
  RecordPage make_page(Slab& slab, uint32_t first, uint32_t count);
  Slab* slab_of(const RecordPage& page);
  static uint64_t blocks_of(const RecordPage& page);

  // Mode Device.
  VkResult start_zeroing(Slab& slab);
  VkResult finish_zeroing(Slab& slab);
  VkResult find_clean_run(uint32_t count, RecordPage& page);
  Slab* find_slab(uint32_t count, bool being_zeroed) const;
  static bool can_hold(const Slab& slab, uint32_t count);
  void zero_ahead();

  const MemoryContext& context_;
  const Chunk::Use use_;
  std::unique_ptr<Transfer> transfer_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Slab>> slabs_;
  VkDeviceSize total_ = 0;
};

}  // namespace tally::counters
