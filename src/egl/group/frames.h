// Times of the application's frames: from one swap of a surface to its next. Collected while
// somebody wants them; a pause in the collecting never counts as a frame.
#pragma once

#include <EGL/egl.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace tally::egl {

// Nanoseconds. The totals only grow; latest, shortest and longest are since reset_extremes().
struct FrameNumbers {
  uint64_t swaps = 0;
  uint64_t frames = 0;      // pairs of swaps of one surface
  uint64_t frame_time = 0;  // sum over the frames
  uint64_t swap_time = 0;   // time the application spent in the call, sum over the swaps
  uint64_t latest = 0;      // 0 before the first frame
  uint64_t shortest = 0;
  uint64_t longest = 0;
};

class Frames {
 public:
  bool active() const { return active_.load(std::memory_order_relaxed); }
  void set_active(bool active);

  // A swap that took from `begin` to `end`.
  void swapped(EGLSurface surface, uint64_t begin, uint64_t end) noexcept;
  void forget(EGLSurface surface) noexcept;

  FrameNumbers numbers() const;
  // Begins the latest time and the extremes anew.
  void reset_extremes();

 private:
  std::atomic<bool> active_{false};
  mutable std::mutex mutex_;
  FrameNumbers numbers_;
  std::map<EGLSurface, uint64_t> last_swap_;
};

Frames& frames();

}  // namespace tally::egl
