// Times of the application's frames. A frame extends from one swap of a surface to its next. Times
// are collected while set_active() is on; a pause never counts as a frame.
#pragma once

#include <EGL/egl.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace tally::egl {

// In nanoseconds. Totals only grow; latest, shortest and longest cover the time since
// reset_extremes().
struct FrameNumbers {
  uint64_t swaps = 0;
  uint64_t frames = 0;      // pairs of consecutive swaps of one surface
  uint64_t frame_time = 0;  // sum over the frames
  uint64_t swap_time = 0;   // time spent in the swap call, summed over the swaps
  uint64_t latest = 0;      // 0 before the first frame
  uint64_t shortest = 0;
  uint64_t longest = 0;
};

class Frames {
 public:
  bool active() const { return active_.load(std::memory_order_relaxed); }
  void set_active(bool active);

  // Records a swap call that lasted from `begin` to `end`.
  void swapped(EGLSurface surface, uint64_t begin, uint64_t end) noexcept;
  void forget(EGLSurface surface) noexcept;

  FrameNumbers numbers() const;
  // Resets the latest time and the extremes.
  void reset_extremes();

 private:
  std::atomic<bool> active_{false};
  mutable std::mutex mutex_;
  FrameNumbers numbers_;
  std::map<EGLSurface, uint64_t> last_swap_;
};

Frames& frames();

}  // namespace tally::egl
