// Tracks the current frame. A frame ends at a present. On a device without a swapchain, it ends at
// each submission.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "capture/capture_settings.h"

namespace tally::capture {

class Frames {
 public:
  struct Frame {
    int64_t number = 0;
    int64_t begin_ns = 0;
  };

  Frames(FrameRange range, int64_t now_ns) : range_(range), current_{0, now_ns} {}

  Frame current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  // Ends the current frame and returns it.
  Frame end(int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    const Frame ended = current_;
    current_ = {ended.number + 1, now_ns};
    if (current_.number > range_.last) over_.store(true, std::memory_order_relaxed);
    return ended;
  }

  bool captured(int64_t number) const { return range_.contains(number); }
  // True if nothing recorded from now on is captured.
  bool over() const { return over_.load(std::memory_order_relaxed); }

  void swapchain_created() { ++swapchains_; }
  void swapchain_destroyed() { --swapchains_; }
  bool end_at_present() const { return swapchains_ > 0; }

 private:
  const FrameRange range_;
  mutable std::mutex mutex_;
  Frame current_;
  std::atomic<bool> over_ = false;
  std::atomic<int64_t> swapchains_ = 0;
};

}  // namespace tally::capture
