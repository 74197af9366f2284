#include "counters/instrumentation/object.h"

#include <algorithm>
#include <utility>

namespace tally::counters {
namespace {

// A page with less space left is not reused.
constexpr VkDeviceSize kMinCapacity = 1024;
constexpr VkDeviceSize kZeroedTogether = 4096;

}  // namespace

Instrumentation::~Instrumentation() {
  for (const RecordPage& page : pages_) record_pool_.release(page);
  for (const WordPage& page : word_pages_) word_pool_.release(page);
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
  const VkResult result = record_pool_.acquire_undefined(bytes, fresh);
  if (result != VK_SUCCESS) return result;
  page.index = static_cast<uint32_t>(pages_.size());
  page.page = fresh;
  page.used = 0;
  page.zeroed = record_pool_.zeroed_bytes(fresh);
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
  const VkResult result = word_pool_.acquire(fresh);
  if (result != VK_SUCCESS) return result;
  words = {fresh, 0};
  word_pages_.push_back(fresh);
  return VK_SUCCESS;
}

void Instrumentation::close_words(const OpenWords& words) {
  const std::lock_guard lock(mutex_);
  if (words.page.chunk && words.used < words.page.count) open_words_.push_back(words);
}

VkResult Instrumentation::clear() {
  std::vector<RecordPage> used;
  {
    const std::lock_guard lock(mutex_);
    used = pages_;
    for (size_t i = 0; i < used.size(); ++i) used[i].size = zeroed_[i];
  }
  std::erase_if(used, [](const RecordPage& page) { return page.size == 0; });
  return record_pool_.clear(used);
}

std::vector<RecordPage> Instrumentation::pages() const {
  const std::lock_guard lock(mutex_);
  return pages_;
}

VkResult Instrumentation::values(const ValuesRequest& request) const {
  std::vector<RecordRun> runs;
  {
    const std::lock_guard lock(mutex_);
    for (const RecordRange& range : ranges_) range.collect(runs);
  }
  // Several command buffers may have recorded into the object at the same time.
  std::ranges::sort(runs, {}, [](const RecordRun& run) { return run.first.result_index; });
  if (!request.blocks) {
    *request.count = count_blocks(runs);
    return VK_SUCCESS;
  }
  RecordSnapshot snapshot;
  const VkResult result = record_pool_.read(pages(), snapshot);
  return result == VK_SUCCESS ? write_blocks(runs, {snapshot.pages(), snapshot.cached()}, request)
                              : result;
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
