#include "counters/state/segment.h"

#include <algorithm>
#include <utility>

namespace tally::counters {

Segment::~Segment() {
  for (Block* block = first_.next.load(); block;) delete std::exchange(block, block->next.load());
}

InstrumentationRecord Segment::Run::at(uint32_t index) const {
  InstrumentationRecord record = first;
  record.result_index += index;
  if (index != 0) record.offset += index * distance;
  return record;
}

bool Segment::Run::extend(const InstrumentationRecord& record) {
  const uint32_t length = count.load(std::memory_order_relaxed);
  if (length == 1) distance = record.offset - first.offset;
  if (record != at(length)) return false;
  count.store(length + 1, std::memory_order_release);
  return true;
}

Segment::Run& Segment::next_run() {
  if (used_ == last_->runs.size()) {
    auto* block = new Block;
    last_->next.store(block, std::memory_order_release);
    last_ = block;
    used_ = 0;
  }
  return last_->runs[used_++];
}

void Segment::append(const InstrumentationRecord& record) {
  if (used_ != 0 && last_->runs[used_ - 1].extend(record)) return;
  Run& run = next_run();
  run.first = record;
  run.count.store(1, std::memory_order_release);
}

void Segment::keep(const std::shared_ptr<const Program>& program) {
  // Applications go back and forth between few pipelines: those met last are looked at first.
  const auto known = std::find(programs_.rbegin(), programs_.rend(), program);
  if (known == programs_.rend()) programs_.push_back(program);
}

void Segment::collect(std::vector<InstrumentationRecord>& records) const {
  for (const Block* block = &first_; block; block = block->next.load(std::memory_order_acquire)) {
    for (const Run& run : block->runs) {
      const uint32_t count = run.count.load(std::memory_order_acquire);
      if (count == 0) break;
      for (uint32_t i = 0; i < count; ++i) records.push_back(run.at(i));
    }
  }
}

}  // namespace tally::counters
