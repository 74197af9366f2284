// The records of one begin/end range of one command buffer.
//
// Commands in a row of one program find their records one behind the other. Such a run is one entry
// of the list, however long it is. One thread appends, without a lock; any thread reads at the same
// time, and sees the records appended before.
#pragma once

#include <array>
#include <atomic>
#include <memory>
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
  // What extends the last run, when that has a program; the caller may append it so.
  const InstrumentationRecord& next() const { return next_; }
  void append_next() {
    next_.result_index += 1;
    next_.offset += last_run_->distance;
    last_run_->grow();
  }
  // Keeps the program alive as long as the records that point to it.
  void keep(const std::shared_ptr<const Program>& program);
  void collect(std::vector<InstrumentationRecord>& records) const;

 private:
  // Records of indices in a row, at equal distances in one page. Once others may read, `count`
  // changes, and before the second record `distance`, which must not be read for the first.
  struct Run {
    InstrumentationRecord first;
    uint32_t distance = 0;            // as InstrumentationRecord::offset
    std::atomic<uint32_t> count = 0;  // 0: not there yet

    InstrumentationRecord at(uint32_t index) const;
    void grow() {
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  };
  struct Block {
    std::array<Run, 32> runs;
    std::atomic<Block*> next = nullptr;
  };

  Run& new_run();

  Block first_;
  // This and what follows: of the thread that appends.
  Block* last_ = &first_;
  size_t used_ = 0;  // runs in the last block
  Run* last_run_ = nullptr;
  InstrumentationRecord next_;  // what extends the last run; no program: not known yet
  std::vector<std::shared_ptr<const Program>> programs_;
};

}  // namespace tally::counters
