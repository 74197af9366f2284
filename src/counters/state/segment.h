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

#include "counters/result/instrumentation_values.h"
#include "counters/shader/program.h"

namespace tally::counters {

class Segment {
 public:
  Segment() = default;
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  void append(const InstrumentationRecord& record);
  // Keeps the program alive as long as the records that point to it.
  void keep(const std::shared_ptr<const Program>& program);
  void collect(std::vector<InstrumentationRecord>& records) const;

 private:
  // Records of indices in a row, at equal distances in one page. Only `count` changes once others
  // may read: `distance` is there from the second record on.
  struct Run {
    InstrumentationRecord first;
    uint32_t distance = 0;            // as InstrumentationRecord::offset
    std::atomic<uint32_t> count = 0;  // 0: not there yet

    InstrumentationRecord at(uint32_t index) const;
    bool extend(const InstrumentationRecord& record);
  };
  struct Block {
    std::array<Run, 32> runs;
    std::atomic<Block*> next = nullptr;
  };

  Run& next_run();

  Block first_;
  Block* last_ = &first_;  // this and what follows: of the thread that appends
  size_t used_ = 0;        // runs in the last block
  std::vector<std::shared_ptr<const Program>> programs_;
};

}  // namespace tally::counters
