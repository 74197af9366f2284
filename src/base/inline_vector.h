// A vector of trivial elements, the first of which need no allocation.
#pragma once

#include <array>
#include <cstddef>
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

}  // namespace tally
