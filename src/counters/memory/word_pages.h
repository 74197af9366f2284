// Record pointers for one recording, cut one after the other from pages of the device's word pool.
// Used by one thread at a time.
#pragma once

#include <vector>

#include "counters/memory/word_pool.h"

namespace tally::counters {

class WordPages {
 public:
  explicit WordPages(WordPool& pool) : pool_(pool) {}
  ~WordPages() { reset(); }
  WordPages(const WordPages&) = delete;
  WordPages& operator=(const WordPages&) = delete;

  // The next pair of words: entry `index` of `page`.
  VkResult next(WordPage& page, uint32_t& index);
  // No command that uses a word may be pending.
  void reset();

 private:
  WordPool& pool_;
  std::vector<WordPage> pages_;
  uint32_t used_ = 0;  // of the last page
};

}  // namespace tally::counters
