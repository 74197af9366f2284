// Numbers of distinct things that the caller keeps in a sequence: a hash table with open addressing
// that holds their numbers alone, 8 to 16 bytes for each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tally {

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
