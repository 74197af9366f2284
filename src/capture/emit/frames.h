// Tracks the current frame, and which frames are captured. A frame ends at a present. On a device
// without a swapchain, it ends at each submission.
//
// What a captured frame submits must have been recorded with instrumentation. So recording_soon()
// is true some frames before a captured one, as many as command buffers were seen to wait from
// their recording to their submission.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "base/frame_range.h"
#include "store/frame_schedule.h"

namespace tally::capture {

class Frames {
 public:
  // Command buffers that wait longer are not expected.
  static constexpr int64_t kMaxLag = 16;

  struct Frame {
    int64_t number = 0;
    int64_t begin_ns = 0;
    int64_t index = 0;  // how many captured frames precede it
    bool captured = false;
    bool dropped = false;  // to be captured, but the receiver has ordered to stop
  };

  // Without `choice`, frames are captured on request.
  Frames(std::optional<FrameChoice> choice, int64_t now_ns) : schedule_(std::move(choice)) {
    begin(0, now_ns, 0);
  }

  Frame current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  int64_t number() const { return number_.load(std::memory_order_relaxed); }
  // Ends the current frame and returns it. `orders`: what the receiver wants.
  Frame end(int64_t now_ns, const store::stream::Orders& orders) {
    const std::lock_guard lock(mutex_);
    const Frame ended = current_;
    // Everything that is recorded from now on can be in a requested frame.
    schedule_.obey(orders, ended.number + 1, lag_);
    begin(ended.number + 1, now_ns, ended.index + (ended.captured ? 1 : 0));
    return ended;
  }

  // A command buffer was submitted this many frames after its recording.
  void saw_lag(int64_t frames) {
    if (frames == 0) return;
    const std::lock_guard lock(mutex_);
    lag_ = std::max(lag_, std::min(frames, kMaxLag));
    look_ahead();
  }

  // Whether what is recorded now may be submitted in a captured frame, if it is submitted soon.
  bool recording_soon() const { return soon_.load(std::memory_order_relaxed); }
  // True if nothing recorded from now on is captured.
  bool over() const { return over_.load(std::memory_order_relaxed); }

  void swapchain_created() { ++swapchains_; }
  void swapchain_destroyed() { --swapchains_; }
  bool end_at_present() const { return swapchains_ > 0; }

 private:
  void begin(int64_t number, int64_t now_ns, int64_t index) {
    current_ = {number, now_ns, index, schedule_.captured(number), schedule_.dropped(number)};
    number_.store(number, std::memory_order_relaxed);
    look_ahead();
  }
  void look_ahead() {
    const int64_t next = current_.number;
    soon_.store(schedule_.captured_any(next, next + lag_), std::memory_order_relaxed);
    over_.store(schedule_.over(next), std::memory_order_relaxed);
  }

  mutable std::mutex mutex_;
  store::stream::FrameSchedule schedule_;
  Frame current_;
  int64_t lag_ = 0;
  std::atomic<int64_t> number_ = 0;  // of current_
  std::atomic<bool> soon_ = false;
  std::atomic<bool> over_ = false;
  std::atomic<int64_t> swapchains_ = 0;
};

}  // namespace tally::capture
