// Record pointers for pipelines that read them through the reserved descriptor set. Each chunk is a
// uniform buffer with one descriptor set. The dynamic offset selects a pair of words: the pointer
// to the record and the pointer to the region's accumulators. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "counters/memory/chunk.h"

namespace tally::counters {

// Memory for `count` pairs of words, `stride` bytes apart.
struct WordPage {
  Chunk* chunk = nullptr;
  VkDescriptorSet set = VK_NULL_HANDLE;
  uint32_t offset = 0;
  uint32_t stride = 0;
  uint32_t count = 0;

  uint32_t dynamic_offset(uint32_t index) const { return offset + index * stride; }
  void write(uint32_t index, uint64_t record, uint64_t region) const;
};

class WordPool {
 public:
  explicit WordPool(const MemoryContext& context) : context_(context) {}
  ~WordPool();
  WordPool(const WordPool&) = delete;
  WordPool& operator=(const WordPool&) = delete;

  // The layout of the reserved set: one dynamic uniform buffer, visible to every stage. Null if the
  // driver fails to create it.
  VkDescriptorSetLayout set_layout();
  // A set layout without bindings, for sets between the application's and the reserved one.
  VkDescriptorSetLayout empty_layout();

  // Allocates null_word(). Call before its first use.
  VkResult prepare();
  // A pair of words that are always 0.
  WordPage null_word();

  VkResult acquire(WordPage& page);
  void release(const WordPage& page);

 private:
  struct Slab {
    std::unique_ptr<Chunk> chunk;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    VkDescriptorSet set = VK_NULL_HANDLE;
    uint64_t free = 0;
  };

  VkDescriptorSetLayout layout_locked();
  VkResult acquire_locked(WordPage& page);
  VkResult add_slab();
  VkResult make_set(Slab& slab);

  const MemoryContext& context_;
  std::mutex mutex_;  // guards what follows
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout empty_layout_ = VK_NULL_HANDLE;
  std::vector<Slab> slabs_;
  WordPage null_word_;
};

// Record pointers for one recording, cut one after the other from pages of the device's word pool.
// Used by one thread at a time.

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
