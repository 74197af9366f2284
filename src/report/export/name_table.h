// Distinct texts by number, one after another in memory: an export may have a million names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/number_table.h"

namespace tally::report {

class NameTable {
 public:
  // The number of an equal text, or of this one, which is new.
  uint32_t add(std::string_view text) {
    const auto next = static_cast<uint32_t>(ends_.size());
    const uint32_t number = numbers_.find_or_add(
        hash(text), next, [&](uint32_t other) { return (*this)[other] == text; },
        [&](uint32_t other) { return hash((*this)[other]); });
    if (number == next) {
      texts_ += text;
      ends_.push_back(texts_.size());
    }
    return number;
  }
  // Makes room for `count` texts in a table that is empty.
  void reserve(size_t count) {
    ends_.reserve(count);
    numbers_.reserve(count);
  }
  size_t size() const { return ends_.size(); }
  // Valid until the next add().
  std::string_view operator[](uint32_t number) const {
    const size_t begin = number == 0 ? 0 : ends_[number - 1];
    return std::string_view(texts_).substr(begin, ends_[number] - begin);
  }

 private:
  static uint64_t hash(std::string_view text) { return std::hash<std::string_view>{}(text); }

  std::string texts_;
  std::vector<size_t> ends_;  // by number: where its text ends
  NumberTable numbers_;
};

}  // namespace tally::report
