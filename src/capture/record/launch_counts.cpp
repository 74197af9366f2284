#include "capture/record/launch_counts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "capture/record/timestamps.h"

namespace tally::capture {

void PushConstants::push(uint32_t offset, std::span<const std::byte> values) {
  const size_t room = offset < kMaxBytes ? kMaxBytes - offset : 0;
  beyond_ = beyond_ || values.size() > room;
  const size_t size = std::min(values.size(), room);
  if (size == 0) return;
  std::memcpy(bytes_.data() + offset, values.data(), size);
  unknown_ &= ~words_of(offset, static_cast<uint32_t>(size));
}

void PushConstants::push_unknown(uint32_t offset, uint32_t size) {
  beyond_ = beyond_ || uint64_t{offset} + size > kMaxBytes;
  unknown_ |= words_of(offset, size);
}

uint64_t PushConstants::words_of(uint32_t offset, uint32_t size) {
  static_assert(kMaxBytes == 64 * sizeof(uint32_t));
  if (size == 0 || offset >= kMaxBytes) return 0;
  const uint32_t begin = offset / sizeof(uint32_t);
  const uint32_t last = (offset + std::min(size, kMaxBytes - offset) - 1) / sizeof(uint32_t);
  return (~uint64_t{0} << begin) & (~uint64_t{0} >> (63 - last));
}

std::span<const std::byte> PushConstants::bytes(const spirv::LaunchInputs::Range& range) const {
  if (range.begin >= kMaxBytes || (range.end > kMaxBytes && beyond_) ||
      (unknown_ & words_of(range.begin, range.end - range.begin)) != 0) {
    return {};
  }
  return std::span(bytes_).subspan(range.begin, std::min(range.end, kMaxBytes) - range.begin);
}

bool LaunchKey::take(std::span<const spirv::LaunchInputs::Range> ranges,
                     const PushConstants& pushed) {
  for (const spirv::LaunchInputs::Range& range : ranges) {
    const auto part = pushed.bytes(range);
    if (part.empty()) return false;
    append(part);
  }
  return true;
}

void LaunchKey::take(std::initializer_list<int64_t> parameters) {
  append(std::as_bytes(std::span(parameters.begin(), parameters.size())));
}

void LaunchKey::append(std::span<const std::byte> part) {
  std::memcpy(bytes_.data() + size_, part.data(), part.size());
  size_ += part.size();
}

bool have_equal_values(std::span<const uint64_t> a, std::span<const uint64_t> b,
                       size_t block_words) {
  constexpr uint32_t kIndexBits = 32;  // of the result index, in a block's first word
  if (a.size() != b.size()) return false;
  if (std::memcmp(a.data(), b.data(), a.size_bytes()) == 0) return true;  // most often
  for (size_t i = 0; i < a.size(); i += block_words) {
    if (a[i] >> kIndexBits != b[i] >> kIndexBits ||
        std::memcmp(&a[i + 1], &b[i + 1], (block_words - 1) * sizeof(uint64_t)) != 0) {
      return false;
    }
  }
  return true;
}

Launch::Launch(const LaunchKey& key) : key_(key), number_(new_time_sample()) {}

bool Launch::learn(std::span<const uint64_t> words, size_t block_words) {
  const std::lock_guard lock(mutex_);
  if (counted_.load(std::memory_order_relaxed))
    return have_equal_values(words, words_, block_words);
  words_.assign(words.begin(), words.end());
  constexpr size_t kHeaderWords = 2;  // of a metric block, in front of its metrics
  for (size_t i = kHeaderWords; i < words.size(); i += block_words) executions_ += words[i];
  counted_.store(true, std::memory_order_release);
  return true;
}

Launch* Launches::find(std::initializer_list<int64_t> parameters, const PushConstants& pushed,
                       std::span<const uint64_t> sizes) {
  if (!trusted_.load(std::memory_order_relaxed)) return nullptr;
  if (sizes.empty() != inputs_.sizes.empty()) return nullptr;
  LaunchKey key;
  if (!key.take(inputs_.push_constants, pushed)) return nullptr;
  key.take(sizes);
  key.take(parameters);
  const Hash128 hash = hash_bytes(key.bytes());
  std::atomic<Launch*>& recent = recent_[hash.low % kRecent];
  Launch* const last = recent.load(std::memory_order_acquire);
  if (last && last->key() == key) return last;
  Launch* const found = find_or_add(key, hash);
  if (found) recent.store(found, std::memory_order_release);
  return found;
}

Launch* Launches::find_or_add(const LaunchKey& key, const Hash128& hash) {
  const std::lock_guard lock(mutex_);
  if (const auto found = launches_.find(hash); found != launches_.end()) {
    return found->second->key() == key ? found->second.get() : nullptr;
  }
  if (launches_.size() == kMaxLaunches) return nullptr;
  return launches_.emplace(hash, std::make_unique<Launch>(key)).first->second.get();
}

}  // namespace tally::capture
