// A vector of trivial elements, the first of which need no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally {

template <typename T, size_t kInline>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineVector() = default;
  InlineVector(const InlineVector&) = default;
  InlineVector& operator=(const InlineVector&) = default;
  // Leaves the other one empty.
  InlineVector(InlineVector&& other) noexcept
      : few_(other.few_), many_(std::move(other.many_)), size_(std::exchange(other.size_, 0)) {}
  InlineVector& operator=(InlineVector&& other) noexcept {
    few_ = other.few_;
    many_ = std::move(other.many_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  void push_back(const T& value) {
    if (size_ == kInline) many_.assign(few_.begin(), few_.end());
    if (size_ < kInline) {
      few_[size_] = value;
    } else {
      many_.push_back(value);
    }
    ++size_;
  }
  void clear() { size_ = 0; }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return size_ <= kInline ? few_.data() : many_.data(); }
  const T* data() const { return size_ <= kInline ? few_.data() : many_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  std::array<T, kInline> few_{};
  std::vector<T> many_;  // all elements, if there are more than kInline
  size_t size_ = 0;
};

// Numbers of distinct things that the caller keeps in a sequence: a hash table with open addressing
// that holds their numbers alone, 8 to 16 bytes for each.

class NumberTable {
 public:
  // The number of the thing for which `equals(number)` is true; if there is none, `next`, which is
  // then in the table. `hash_of(number)` is the hash of a thing in the table.
  template <typename Equals, typename HashOf>
  uint32_t find_or_add(uint64_t hash, uint32_t next, const Equals& equals, const HashOf& hash_of) {
    if (2 * (size_ + 1) > slots_.size()) grow(hash_of);
    size_t at = hash & (slots_.size() - 1);
    for (; slots_[at] != kEmpty; at = (at + 1) & (slots_.size() - 1)) {
      if (equals(slots_[at])) return slots_[at];
    }
    slots_[at] = next;
    ++size_;
    return next;
  }

  // Makes room for `count` things in a table that is empty.
  void reserve(size_t count) {
    slots_.assign(std::max(kFirstSlots, std::bit_ceil(2 * count + 2)), kEmpty);
  }

 private:
  static constexpr uint32_t kEmpty = ~0u;
  static constexpr size_t kFirstSlots = 64;

  template <typename HashOf>
  void grow(const HashOf& hash_of) {
    const std::vector<uint32_t> old = std::move(slots_);
    slots_.assign(old.empty() ? kFirstSlots : 2 * old.size(), kEmpty);
    for (const uint32_t number : old) {
      if (number == kEmpty) continue;
      size_t at = hash_of(number) & (slots_.size() - 1);
      while (slots_[at] != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = number;
    }
  }

  std::vector<uint32_t> slots_;  // a power of two of them, or none
  size_t size_ = 0;
};

}  // namespace tally
