// The records of one begin/end range of one command buffer.
//
// Consecutive commands of one program have contiguous records. Such a run is one entry of the list,
// however long it is. One thread appends without a lock. Any thread may read at the same time, and
// sees the records that were appended before.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "counters/instrumentation/values.h"
#include "counters/shader/program.h"

namespace tally::counters {

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
  // Set by the thread that appends: queries count in the same records, so they stay where they are.
  bool shared = false;

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

}  // namespace tally::counters
