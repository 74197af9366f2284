#include "counters/features/instrumentation/recorder.h"

#include <algorithm>

#include "vk/own_call.h"

namespace tally::counters {

void InstrumentationRecorder::close_pages() {
  if (active_) {
    active_->close_page(page_);
    active_->close_words(words_);
  }
  active_.reset();
  range_ = nullptr;
  page_ = {};
  words_ = {};
  kept_program_ = nullptr;
}

void InstrumentationRecorder::reset() {
  close_pages();
  objects_.clear();
  ranges_.clear();
}

void InstrumentationRecorder::add_object(const std::shared_ptr<Instrumentation>& object) {
  if (std::ranges::find(objects_, object) == objects_.end()) objects_.push_back(object);
}

void InstrumentationRecorder::begin(const std::shared_ptr<Instrumentation>& object) {
  add_object(object);
  range_ = &object->add_range();
  ranges_.push_back({object, range_});
  active_ = object;
  kept_program_ = nullptr;
}

void InstrumentationRecorder::end() { close_pages(); }

void InstrumentationRecorder::execute(const InstrumentationRecorder& secondary) {
  for (const auto& object : secondary.objects_) add_object(object);
}

std::vector<RecordedRange> InstrumentationRecorder::gatherable() const {
  std::vector<RecordedRange> ranges = ranges_;
  std::erase_if(ranges, [](const RecordedRange& recorded) {
    return recorded.range->empty() || recorded.range->stays;
  });
  return ranges;
}

VkResult InstrumentationRecorder::reserve(uint64_t bytes, uint32_t shards_log2,
                                          VkDeviceSize& offset) {
  if (shards_log2 != 0) page_.used = probe::align_up(page_.used, probe::kShardAlignment);
  if (page_.page.size - page_.used < bytes) {
    active_->close_page(page_);
    page_ = {};
    TALLY_TRY(active_->open_page(bytes, page_));
  }
  offset = page_.used;
  page_.use(bytes);
  return VK_SUCCESS;
}

void InstrumentationRecorder::append(uint32_t result_index, VkDeviceSize offset,
                                     uint32_t shards_log2,
                                     const std::shared_ptr<const Program>& program) {
  if (kept_program_ != program.get()) {
    range_->keep(program);
    if (program->has_maxima()) range_->stays = true;
    kept_program_ = program.get();
  }
  range_->append({result_index, page_.index,
                  static_cast<uint32_t>(offset / probe::kRecordAlignment), shards_log2,
                  program.get()});
}

VkResult InstrumentationRecorder::next_words(WordPage& page, uint32_t& index) {
  if (words_.used == words_.page.count) {
    words_ = {};
    TALLY_TRY(active_->open_words(words_));
  }
  page = words_.page;
  index = words_.used++;
  return VK_SUCCESS;
}

}  // namespace tally::counters
