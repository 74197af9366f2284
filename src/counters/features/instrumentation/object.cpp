#include "counters/features/instrumentation/object.h"

#include <algorithm>
#include <utility>

#include "vk/own_call.h"

namespace tally::counters {
namespace {

// If only the GPU knows the amount of work.
constexpr uint32_t kUnknownShardsLog2 = 6;
// Units of work per shard (log2), for large work.
constexpr uint32_t kWorkPerShardLog2 = 5;

}  // namespace

// Small work has little contention, and small records are faster to zero and to read.
ShardTable::ShardTable(uint32_t max_shards_log2, bool fixed) {
  for (uint32_t width = 0; width < by_width_.size(); ++width) {
    const uint32_t wanted = std::max(width / 2, width - std::min(width, kWorkPerShardLog2));
    by_width_[width] =
        static_cast<uint8_t>(fixed ? max_shards_log2 : std::min(wanted, max_shards_log2));
  }
  if (fixed) return;
  by_width_[std::bit_width(kUnknownWork)] =
      static_cast<uint8_t>(std::min(kUnknownShardsLog2, max_shards_log2));
}

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
  visit([&](const RecordRun& run) { runs.push_back(run); });
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

namespace {

// A page with less space left is not reused.
constexpr VkDeviceSize kMinCapacity = 1024;
constexpr VkDeviceSize kZeroedTogether = 4096;
constexpr VkDeviceSize kResultAlignment = 64;

}  // namespace

Instrumentation::~Instrumentation() {
  const bool clean = zero_records();
  for (const RecordPage& page : pages_) memory_.records.release(page, clean);
  for (const RecordPage& page : result_pages_) memory_.results.release(page);
  for (const WordPage& page : word_pages_) memory_.words.release(page);
}

RecordRange& Instrumentation::add_range() {
  const std::lock_guard lock(mutex_);
  return ranges_.emplace_back();
}

VkResult Instrumentation::open_page(VkDeviceSize bytes, OpenPage& page) {
  const std::lock_guard lock(mutex_);
  const auto open = std::ranges::find_if(open_pages_, [&](const OpenPage& candidate) {
    return candidate.page.size - candidate.used >= bytes;
  });
  if (open != open_pages_.end()) {
    page = *open;
    open_pages_.erase(open);
    return VK_SUCCESS;
  }
  pages_.reserve(pages_.size() + 1);
  zeroed_.reserve(pages_.size() + 1);
  RecordPage fresh;
  TALLY_TRY(memory_.records.acquire_undefined(bytes, fresh));
  page.index = static_cast<uint32_t>(pages_.size());
  page.page = fresh;
  page.used = 0;
  page.zeroed = memory_.records.zeroed_bytes(fresh);
  if (page.zeroed == 0 && !fresh.chunk->coherent()) {
    // Another thread that reads invalidates the whole page.
    RecordPool::zero(fresh, 0, fresh.size);
    page.zeroed = fresh.size;
  }
  pages_.push_back(fresh);
  zeroed_.push_back(page.zeroed);
  return VK_SUCCESS;
}

void Instrumentation::OpenPage::zero_more() {
  const VkDeviceSize end = std::min(probe::align_up(used, kZeroedTogether), page.size);
  RecordPool::zero(page, zeroed, end);
  zeroed = end;
}

void Instrumentation::close_page(OpenPage page) {
  if (!page.page.chunk) return;
  page.used = probe::align_up(page.used, probe::kShardAlignment);
  const std::lock_guard lock(mutex_);
  zeroed_[page.index] = page.zeroed;
  if (page.page.size - page.used >= kMinCapacity) open_pages_.push_back(page);
}

VkResult Instrumentation::open_words(OpenWords& words) {
  const std::lock_guard lock(mutex_);
  if (!open_words_.empty()) {
    words = open_words_.back();
    open_words_.pop_back();
    return VK_SUCCESS;
  }
  word_pages_.reserve(word_pages_.size() + 1);
  WordPage fresh;
  TALLY_TRY(memory_.words.acquire(fresh));
  words = {fresh, 0};
  word_pages_.push_back(fresh);
  return VK_SUCCESS;
}

void Instrumentation::close_words(const OpenWords& words) {
  const std::lock_guard lock(mutex_);
  if (words.page.chunk && words.used < words.page.count) open_words_.push_back(words);
}

VkResult Instrumentation::reserve_locked(VkDeviceSize bytes, RecordRange::Results& results) {
  results_used_ = probe::align_up(results_used_, kResultAlignment);
  if (result_pages_.empty() || result_pages_.back().size < results_used_ + bytes) {
    result_pages_.reserve(result_pages_.size() + 1);
    RecordPage fresh;
    TALLY_TRY(memory_.results.acquire_undefined(bytes, fresh));
    result_pages_.push_back(fresh);
    results_used_ = 0;
  }
  results = {static_cast<uint32_t>(result_pages_.size() - 1), results_used_, bytes};
  results_used_ += bytes;
  return VK_SUCCESS;
}

VkResult Instrumentation::reserve_results(VkDeviceSize bytes, RecordRange::Results& results,
                                          RecordPage& page) {
  const std::lock_guard lock(mutex_);
  const VkResult result = reserve_locked(bytes, results);
  if (result == VK_SUCCESS) page = result_pages_[results.page];
  return result;
}

VkResult Instrumentation::plan_gather(const RecordRange& range, RecordRange::Results& results,
                                      std::vector<GatherRun>& moves) {
  std::vector<RecordRun> runs;
  range.collect(runs);
  VkDeviceSize bytes = 0;
  for (const RecordRun& run : runs) bytes += run.count * all_slots_bytes(*run.first.program, 0);
  const std::lock_guard lock(mutex_);
  TALLY_TRY(reserve_locked(bytes, results));
  const RecordPage& target_page = result_pages_[results.page];
  RecordPool::zero(target_page, results.offset, results.offset + bytes);
  VkDeviceAddress target = target_page.address + results.offset;
  for (const RecordRun& run : runs) {
    const Program& program = *run.first.program;
    const uint32_t shards_log2 = run.first.shards_log2;
    const VkDeviceAddress source =
        pages_[run.first.page].address + uint64_t{run.first.offset} * probe::kRecordAlignment;
    for (size_t i = 0; i < kAddressSlots; ++i) {
      const auto slot = static_cast<AddressSlot>(i);
      const uint32_t capacity = program.capacities[i];
      if (capacity == 0) continue;
      moves.push_back(
          {.source = source + slot_begin(program, slot, shards_log2),
           .target = target + slot_begin(program, slot, 0),
           .counters = capacity,
           .records = run.count,
           .shards_log2 = shards_log2,
           .stride = probe::counter_bytes(probe::shard_stride(capacity)),
           .source_distance = run.distance * static_cast<uint32_t>(probe::kRecordAlignment),
           .target_distance = static_cast<uint32_t>(all_slots_bytes(program, 0))});
    }
    target += run.count * all_slots_bytes(program, 0);
  }
  return VK_SUCCESS;
}

void Instrumentation::gathered(RecordRange& range, const RecordRange::Results& results) {
  const std::lock_guard lock(mutex_);
  range.results = results;
}

bool Instrumentation::all_gathered() const {
  return std::ranges::all_of(
      ranges_, [](const RecordRange& range) { return range.results || range.empty(); });
}

// The GPU leaves zeros where it gathers. Records that stay may have other data behind them.
bool Instrumentation::zero_records() {
  if (all_gathered()) return true;
  if (!memory_.context.gathers || memory_.context.mode != RecordMemory::Host ||
      std::ranges::any_of(ranges_, [](const RecordRange& range) { return !!range.stays; })) {
    return false;
  }
  const auto zero = [&](const RecordRun& run) {
    const VkDeviceSize bytes = all_slots_bytes(*run.first.program, run.first.shards_log2);
    for (uint32_t i = 0; i < run.count; ++i) {
      const VkDeviceSize begin = VkDeviceSize{run.at(i).offset} * probe::kRecordAlignment;
      RecordPool::zero(pages_[run.first.page], begin, begin + bytes);
    }
  };
  for (const RecordRange& range : ranges_) {
    if (!range.results) range.visit(zero);
  }
  return true;
}

VkResult Instrumentation::clear() {
  std::vector<RecordPage> used;
  {
    const std::lock_guard lock(mutex_);
    for (const RecordRange& range : ranges_) {
      if (!range.results) continue;
      RecordPool::zero(result_pages_[range.results->page], range.results->offset,
                       range.results->offset + range.results->bytes);
    }
    if (zero_records()) return VK_SUCCESS;
    used = pages_;
    for (size_t i = 0; i < used.size(); ++i) used[i].size = zeroed_[i];
  }
  std::erase_if(used, [](const RecordPage& page) { return page.size == 0; });
  return memory_.records.clear(used);
}

VkResult Instrumentation::values(const ValuesRequest& request) const {
  std::vector<RecordRun> runs;
  std::vector<RecordPage> results;
  std::vector<RecordPage> records;  // empty if the GPU has gathered all
  {
    const std::lock_guard lock(mutex_);
    results = result_pages_;
    if (!all_gathered()) records = pages_;
    for (const RecordRange& range : ranges_) {
      if (range.results) {
        range.collect_results(runs);
      } else {
        const size_t first = runs.size();
        range.collect(runs);
        // Result pages come first.
        for (size_t i = first; i < runs.size(); ++i) {
          runs[i].first.page += static_cast<uint32_t>(results.size());
        }
      }
    }
  }
  // Several command buffers may have recorded into the object at the same time.
  std::ranges::sort(runs, {}, [](const RecordRun& run) { return run.first.result_index; });
  if (!request.blocks) {
    *request.count = count_blocks(runs);
    return VK_SUCCESS;
  }
  RecordSnapshot snapshot;
  VkResult result = memory_.results.read(results, snapshot);
  if (result == VK_SUCCESS) result = memory_.records.read(records, snapshot);
  return result == VK_SUCCESS ? write_blocks(runs, snapshot.pages(), request) : result;
}

void Instrumentation::set_name(std::string name) {
  const std::lock_guard lock(mutex_);
  name_ = std::move(name);
}

std::string Instrumentation::name() const {
  const std::lock_guard lock(mutex_);
  return name_;
}

void Instrumentation::add_submission(std::shared_ptr<Submission> submission) {
  const std::lock_guard lock(mutex_);
  std::erase_if(submissions_, [](const auto& known) { return known->done(); });
  submissions_.push_back(std::move(submission));
}

bool Instrumentation::in_use() {
  const std::lock_guard lock(mutex_);
  std::erase_if(submissions_, [](const auto& known) { return known->done_soon(); });
  return !submissions_.empty();
}

}  // namespace tally::counters
