// The number of shards (log2) of a record, by the amount of work that adds to its counters.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/submission.h"
#include "counters/features/instrumentation/values.h"
#include "counters/memory/device_memory.h"
#include "counters/shaders/program.h"

namespace tally::counters {

// The work of a command, in vertices or workgroups.
inline constexpr uint64_t kUnknownWork = ~uint64_t{0};

class ShardTable {
 public:
  // `fixed`: every record has the maximum.
  ShardTable(uint32_t max_shards_log2, bool fixed);

  uint32_t shards_for(uint64_t work) const { return by_width_[std::bit_width(work)]; }

 private:
  std::array<uint8_t, std::numeric_limits<uint64_t>::digits + 1> by_width_{};
};

// The records of one begin/end range of one command buffer.
//
// Consecutive commands of one program have contiguous records. Such a run is one entry of the list,
// however long it is. One thread appends without a lock. Any thread may read at the same time, and
// sees the records that were appended before.

class RecordRange {
 public:
  RecordRange() = default;
  ~RecordRange();
  RecordRange(const RecordRange&) = delete;
  RecordRange& operator=(const RecordRange&) = delete;

  void append(const InstrumentationRecord& record);
  // The record that would extend the last run; append_next() appends it. Not known without a
  // program.
  const InstrumentationRecord& next() const { return next_; }
  void append_next() {
    next_.result_index += 1;
    next_.offset += last_run_->distance;
    last_run_->grow();
  }
  // Keeps the program alive while records point to it.
  void keep(const std::shared_ptr<const Program>& program);
  void collect(std::vector<RecordRun>& runs) const;
  // The same without memory of its own.
  template <typename Visit>
  void visit(Visit visit) const {
    for (const Block* block = &first_; block; block = block->next.load(std::memory_order_acquire)) {
      for (const Run& run : block->runs) {
        if (run.count.load(std::memory_order_acquire) == 0) break;
        visit(run.known());
      }
    }
  }
  bool empty() const { return first_.runs[0].count.load(std::memory_order_acquire) == 0; }

  // Where the GPU gathers the records: each with one shard, in the order of the runs.
  struct Results {
    uint32_t page = 0;  // index into the object's result pages
    VkDeviceSize offset = 0;
    VkDeviceSize bytes = 0;
  };
  // Guarded by the object. Set once the recording has ended.
  std::optional<Results> results;
  // As collect(), but the records of the runs are the results.
  void collect_results(std::vector<RecordRun>& runs) const;
  // Set by the thread that appends: the records stay where they are. Queries count in them, and in
  // memory behind them, or they hold maxima, which the GPU would add up.
  std::atomic<bool> stays = false;

 private:
  // A RecordRun that grows. Readers see `count` change, and `distance` before the second record:
  // they must not read it for the first.
  struct Run {
    InstrumentationRecord first;
    uint32_t distance = 0;
    std::atomic<uint32_t> count = 0;  // 0: the entry is not used yet

    RecordRun known() const;
    void grow() {
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  };
  struct Block {
    std::array<Run, 16> runs;  // small enough for malloc's per-thread cache
    std::atomic<Block*> next = nullptr;
  };

  Run& new_run();

  Block first_;
  // The members from here on belong to the thread that appends.
  Block* last_ = &first_;
  size_t used_ = 0;  // runs in the last block
  Run* last_run_ = nullptr;
  InstrumentationRecord next_;  // would extend the last run; no program: not known yet
  std::vector<std::shared_ptr<const Program>> programs_;
};

// A VkShaderInstrumentationARM: the records of its commands, and their memory.
//
// Each begin/end range of a command buffer has its own RecordRange, to which the recording thread
// appends without a lock. Values may be read at the same time: they contain the records that were
// appended before. The object owns the memory, which outlives command buffers and pipelines, and
// returns it to the pool when it is destroyed.

// Counters that the GPU moves, as glsl/gather_records.comp knows it: of one slot of the records of
// a run.
struct GatherRun {
  VkDeviceAddress source = 0, target = 0;  // of the first record
  uint32_t counters = 0;                   // of a record
  uint32_t records = 0;
  uint32_t shards_log2 = 0;
  uint32_t stride = 0;           // between shards, in bytes
  uint32_t source_distance = 0;  // between records, in bytes
  uint32_t target_distance = 0;
  // The place in the dispatch: set by RecordGather.
  uint32_t first_group = 0;
  uint32_t groups_of_record = 0;
};

class Instrumentation {
 public:
  // A page that one recording uses. Records are cut from it front to back.
  struct OpenPage {
    uint32_t index = 0;
    RecordPage page;
    VkDeviceSize used = 0;  // a multiple of probe::kShardAlignment when the page is opened
    // The first bytes, which have been zeroed; commands may have counted there since.
    VkDeviceSize zeroed = 0;

    // Cuts zeroed memory. Most recordings use little of a page.
    void use(VkDeviceSize bytes) {
      used += bytes;
      if (used > zeroed) zero_more();
    }

   private:
    void zero_more();
  };
  struct OpenWords {
    WordPage page;
    uint32_t used = 0;
  };

  explicit Instrumentation(DeviceMemory& memory) : memory_(memory) {}
  ~Instrumentation();
  Instrumentation(const Instrumentation&) = delete;
  Instrumentation& operator=(const Instrumentation&) = delete;

  // The result index of an action command.
  uint32_t take_index() { return next_index_.fetch_add(1, std::memory_order_relaxed); }
  // Takes this index if it is the next one.
  bool take_index(uint32_t index) {
    return next_index_.compare_exchange_strong(index, index + 1, std::memory_order_relaxed);
  }

  RecordRange& add_range();
  // A page with at least `bytes` left. Close it when the recording ends, so that the next recording
  // can use the rest.
  VkResult open_page(VkDeviceSize bytes, OpenPage& page);
  void close_page(OpenPage page);
  VkResult open_words(OpenWords& words);
  void close_words(const OpenWords& words);

  // Reserves zeroed results for the records of a range whose recording has ended, and appends what
  // moves them there. Then `gathered` says that a command does so.
  VkResult plan_gather(const RecordRange& range, RecordRange::Results& results,
                       std::vector<GatherRun>& moves);
  void gathered(RecordRange& range, const RecordRange::Results& results);
  // Memory of the object that the host writes and the GPU reads.
  VkResult reserve_results(VkDeviceSize bytes, RecordRange::Results& results, RecordPage& page);

  VkResult clear();
  VkResult values(const ValuesRequest& request) const;

  void set_name(std::string name);
  std::string name() const;

  void add_submission(std::shared_ptr<Submission> submission);
  // True if pending work may still write to it.
  bool in_use();

 private:
  VkResult reserve_locked(VkDeviceSize bytes, RecordRange::Results& results);
  bool all_gathered() const;
  // Zeroes the records that the GPU does not gather, where the host can. Returns whether all pages
  // are zeros then.
  bool zero_records();

  DeviceMemory& memory_;
  std::atomic<uint32_t> next_index_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  std::deque<RecordRange> ranges_;
  std::vector<RecordPage> pages_;
  std::vector<VkDeviceSize> zeroed_;  // of each page, when it was closed last
  std::vector<OpenPage> open_pages_;
  std::vector<RecordPage> result_pages_;
  VkDeviceSize results_used_ = 0;  // of the last result page
  std::vector<WordPage> word_pages_;
  std::vector<OpenWords> open_words_;
  std::vector<std::shared_ptr<Submission>> submissions_;
  std::string name_;
};

}  // namespace tally::counters
