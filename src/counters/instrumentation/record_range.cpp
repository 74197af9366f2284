#include "counters/instrumentation/record_range.h"

#include <algorithm>
#include <utility>

namespace tally::counters {

RecordRange::~RecordRange() {
  for (Block* block = first_.next.load(); block;) delete std::exchange(block, block->next.load());
}

// The part that the appending thread has published.
RecordRun RecordRange::Run::known() const {
  const uint32_t records = count.load(std::memory_order_acquire);
  return {first, records > 1 ? distance : 0, records};
}

RecordRange::Run& RecordRange::new_run() {
  if (used_ == last_->runs.size()) {
    auto* block = new Block;
    last_->next.store(block, std::memory_order_release);
    last_ = block;
    used_ = 0;
  }
  return last_->runs[used_++];
}

void RecordRange::append(const InstrumentationRecord& record) {
  if (record == next_) return append_next();
  if (last_run_ && !next_.program) {  // the second record determines the distance
    last_run_->distance = record.offset - last_run_->first.offset;
    const RecordRun extended{last_run_->first, last_run_->distance, 2};
    if (record == extended.at(1)) {
      last_run_->grow();
      next_ = extended.at(2);
      return;
    }
  }
  last_run_ = &new_run();
  last_run_->first = record;
  last_run_->grow();
  next_ = {};
}

void RecordRange::keep(const std::shared_ptr<const Program>& program) {
  // Applications alternate between few pipelines: search from the last one.
  const auto known = std::find(programs_.rbegin(), programs_.rend(), program);
  if (known == programs_.rend()) programs_.push_back(program);
}

void RecordRange::collect(std::vector<RecordRun>& runs) const {
  for (const Block* block = &first_; block; block = block->next.load(std::memory_order_acquire)) {
    for (const Run& run : block->runs) {
      if (run.count.load(std::memory_order_acquire) == 0) break;
      runs.push_back(run.known());
    }
  }
}

void RecordRange::collect_results(std::vector<RecordRun>& runs) const {
  const size_t first = runs.size();
  collect(runs);
  VkDeviceSize offset = results->offset;
  for (size_t i = first; i < runs.size(); ++i) {
    RecordRun& run = runs[i];
    const uint64_t bytes = all_slots_bytes(*run.first.program, 0);
    run.first.page = results->page;
    run.first.offset = static_cast<uint32_t>(offset / probe::kRecordAlignment);
    run.first.shards_log2 = 0;
    run.distance = static_cast<uint32_t>(bytes / probe::kRecordAlignment);
    offset += run.count * bytes;
  }
}

}  // namespace tally::counters
