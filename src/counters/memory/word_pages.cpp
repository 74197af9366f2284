#include "counters/memory/word_pages.h"

namespace tally::counters {

VkResult WordPages::next(WordPage& page, uint32_t& index) {
  if (pages_.empty() || used_ == pages_.back().count) {
    WordPage fresh;
    const VkResult result = pool_.acquire(fresh);
    if (result != VK_SUCCESS) return result;
    pages_.push_back(fresh);
    used_ = 0;
  }
  page = pages_.back();
  index = used_++;
  return VK_SUCCESS;
}

void WordPages::reset() {
  for (const WordPage& page : pages_) pool_.release(page);
  pages_.clear();
  used_ = 0;
}

}  // namespace tally::counters
