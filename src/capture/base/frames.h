// The captured frames that a receiver knows, by index: each captured frame counts, others do not.
// Frames arrive nearly in order, and eventually all arrive.
// So the set stays a few ranges however long the application runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/frame_range.h"
#include "store/stream/ledger.h"

namespace tally::capture {

class FrameSet {
 public:
  // Returns false if the set already contains the frame.
  bool insert(int64_t frame) {
    auto after = ends_.upper_bound(frame);
    const auto before = after == ends_.begin() ? ends_.end() : std::prev(after);
    if (before != ends_.end() && frame < before->second) return false;
    const auto range = before != ends_.end() && before->second == frame
                           ? before
                           : ends_.emplace_hint(after, frame, frame);
    range->second = frame + 1;
    if (after != ends_.end() && after->first == frame + 1) {
      range->second = after->second;
      ends_.erase(after);
    }
    return true;
  }
  size_t ranges() const { return ends_.size(); }

 private:
  std::map<int64_t, int64_t> ends_;  // first frame of each range -> one past its last frame
};

// Tracks the current frame, what ends it, and which frames are captured. A frame is all that is
// submitted between two ends. The user may choose the ends (base/frame_range.h). Without a choice a
// frame ends at a present, and on a device without a swapchain at each submission with command
// buffers. Where the application marks its frames with VK_EXT_frame_boundary, only its marks end
// frames: on a device without a swapchain from the beginning if the feature is enabled, else from
// the first mark on. So an application that marks the submission before a present ends one frame.
//
// Commands that a captured frame submits must have been recorded with instrumentation. So
// recording_soon() is true some frames before a captured one, as many as command buffers were seen
// to wait from their recording to their submission.

class Frames {
 public:
  // Command buffers that wait longer are not expected.
  static constexpr int64_t kMaxLag = 16;
  // A command buffer may hold many labels.
  static constexpr int64_t kMaxLagOfLabels = 4096;

  struct Frame {
    int64_t number = 0;
    int64_t begin_ns = 0;
    int64_t index = 0;  // how many captured frames precede it
    bool captured = false;
    bool dropped = false;  // to be captured, but the receiver has ordered to stop
  };

  // Without `choice`, frames are captured on request. `marked`: the application enabled the
  // feature frameBoundary.
  Frames(std::optional<FrameChoice> choice, FrameEnds ends, bool marked, int64_t now_ns)
      : ends_(std::move(ends)),
        max_lag_(ends_.unit == FrameUnit::Label ? kMaxLagOfLabels : kMaxLag),
        schedule_(std::move(choice)),
        marked_(marked) {
    begin(0, now_ns, 0);
  }

  FrameUnit unit() const { return ends_.unit; }
  // True if a label of this name ends a frame, unless it is inside one that does.
  bool label_ends(const char* name) const { return !ends_.label || ends_.label->matches(name); }

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
    used_.store(false, std::memory_order_relaxed);
    return ended;
  }
  // Something was submitted in the current frame.
  void use() { used_.store(true, std::memory_order_relaxed); }
  // True if a wait of this kind ends the frame: not if nothing was submitted in it.
  bool ends_at_wait(FrameUnit kind) {
    return ends_.unit == kind && used_.exchange(false, std::memory_order_relaxed);
  }

  // A command buffer was submitted this many frames after its recording.
  void saw_lag(int64_t frames) {
    if (frames == 0) return;
    const std::lock_guard lock(mutex_);
    lag_ = std::max(lag_, std::min(frames, max_lag_));
    look_ahead();
  }

  // True if what is recorded now may be submitted in a captured frame, if it is submitted soon.
  bool recording_soon() const { return soon_.load(std::memory_order_relaxed); }
  // True if nothing recorded from now on is captured.
  bool over() const { return over_.load(std::memory_order_relaxed); }

  void swapchain_created() { ++swapchains_; }
  void swapchain_destroyed() { --swapchains_; }
  // The application has marked the end of a frame. Returns whether that ends one.
  bool ends_at_boundary() {
    marked_ = marked_at_presents_ = true;
    return ends_.unit == FrameUnit::Present;
  }
  bool ends_at_present() const { return ends_.unit == FrameUnit::Present && !marked_at_presents_; }
  // True at the end of a submission with command buffers.
  bool ends_at_submit() const {
    return ends_.unit == FrameUnit::Submit ||
           (ends_.unit == FrameUnit::Present && swapchains_ == 0 && !marked_);
  }

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

  const FrameEnds ends_;
  const int64_t max_lag_;
  mutable std::mutex mutex_;
  store::stream::FrameSchedule schedule_;
  Frame current_;
  int64_t lag_ = 0;
  std::atomic<int64_t> number_ = 0;  // of current_
  std::atomic<bool> soon_ = false;
  std::atomic<bool> over_ = false;
  std::atomic<bool> used_ = false;
  std::atomic<int64_t> swapchains_ = 0;
  std::atomic<bool> marked_;                      // submissions alone end no frame
  std::atomic<bool> marked_at_presents_ = false;  // nor do presents
};

}  // namespace tally::capture
