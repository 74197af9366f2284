// The open debug labels of a queue or command buffer. An application may never end its labels. So
// labels nested deeper than kMaxOpen are only counted.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/emit/stream_connection.h"

namespace tally::capture {

class LabelStack {
 public:
  static constexpr size_t kMaxOpen = 256;

  // Null if no label is open.
  const LabelRef& innermost() const { return open_.empty() ? none_ : open_.back(); }

  // `make` returns the label inside the given parent.
  template <typename Make>
  void begin(Make make) {
    if (open_.size() == kMaxOpen) {
      ++deeper_;
    } else {
      open_.push_back(make(innermost()));
    }
  }

  void end() {
    if (deeper_ != 0) {
      --deeper_;
    } else if (!open_.empty()) {
      open_.pop_back();
    }
  }

  void clear() {
    open_.clear();
    deeper_ = 0;
  }

 private:
  LabelRef none_;
  std::vector<LabelRef> open_;
  uint64_t deeper_ = 0;
};

// Which of the open labels end a frame: of those that do, the outermost one.
class FrameLabels {
 public:
  void begin(bool ends_frame) {
    if (open_.size() == LabelStack::kMaxOpen) {
      ++deeper_;
    } else {
      open_.push_back(ends_frame);
      if (ends_frame) ++inside_;
    }
  }
  // Returns whether a frame ends with the label.
  bool end() {
    if (deeper_ != 0) {
      --deeper_;
      return false;
    }
    if (open_.empty()) return false;
    const bool ended = open_.back();
    open_.pop_back();
    if (ended) --inside_;
    return ended && inside_ == 0;
  }
  bool empty() const { return open_.empty(); }
  // True if a label is open that ends a frame.
  bool inside() const { return inside_ != 0; }
  const std::vector<bool>& open() const { return open_; }
  void clear() {
    open_.clear();
    inside_ = 0;
    deeper_ = 0;
  }

 private:
  std::vector<bool> open_;
  size_t inside_ = 0;
  uint64_t deeper_ = 0;
};

}  // namespace tally::capture
