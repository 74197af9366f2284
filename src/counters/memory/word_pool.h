// Address words for pipelines that find them through the reserved descriptor set: small uniform
// buffers, each chunk with one descriptor set whose dynamic offset picks a pair, the record's word
// and the region's.
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "counters/memory/chunk.h"

namespace tally::counters {

// Room for `count` pairs of words, `stride` bytes apart.
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

  // The layout of the reserved set: one dynamic uniform buffer for every stage. Null when the
  // driver refuses.
  VkDescriptorSetLayout set_layout();
  // A set layout without bindings, for the gap between the application's sets and the reserved one.
  VkDescriptorSetLayout empty_layout();

  // Makes sure that null_word() has one. Call before the first use.
  VkResult prepare();
  // Words that are always 0.
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

}  // namespace tally::counters
