// Which frames of a process are captured: those that its settings choose, or, without a choice,
// those that the receiver requests. The receiver can also end the capture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/frame_range.h"
#include "store/stream/ledger.h"

namespace tally::store::stream {

class FrameSchedule {
 public:
  // Without a choice, frames are captured on request.
  explicit FrameSchedule(std::optional<FrameChoice> choice) : choice_(std::move(choice)) {}

  // Call it before the frame `next`. Requested frames begin `lag` frames later.
  void obey(const Orders& orders, int64_t next, int64_t lag = 0) {
    stopped_ = orders.stopped;
    const uint64_t more = orders.frames - std::exchange(obeyed_, orders.frames);
    if (choice_ || more == 0) return;
    if (requested_.last < next) requested_ = {next + lag, next + lag - 1};
    requested_.last += static_cast<int64_t>(std::min(more, kMaxRequest));
  }

  bool captured(int64_t frame) const { return !stopped_ && chosen(frame, frame); }
  // It was to be captured, but the receiver has ended the capture.
  bool dropped(int64_t frame) const { return stopped_ && chosen(frame, frame); }
  bool captured_any(int64_t first, int64_t last) const { return !stopped_ && chosen(first, last); }
  // Neither `frame` nor a later one is chosen.
  bool past(int64_t frame) const { return choice_ && frame > choice_->last(); }
  // Neither `frame` nor a later one is captured.
  bool over(int64_t frame) const { return stopped_ || past(frame); }

 private:
  static constexpr uint64_t kMaxRequest = 1'000'000'000;

  bool chosen(int64_t first, int64_t last) const {
    return choice_ ? choice_->contains_any(first, last)
                   : requested_.first <= last && requested_.last >= first;
  }

  std::optional<FrameChoice> choice_;
  FrameRange requested_{0, -1};
  uint64_t obeyed_ = 0;  // frames of orders that requested_ includes
  bool stopped_ = false;
};

}  // namespace tally::store::stream
