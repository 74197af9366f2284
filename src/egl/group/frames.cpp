#include "egl/group/frames.h"

#include <algorithm>
#include <memory>
#include <new>

#include "egl/driver/lifetime.h"

namespace tally::egl {

void Frames::set_active(bool active) {
  const std::lock_guard lock(mutex_);
  if (!active) last_swap_.clear();
  active_.store(active, std::memory_order_relaxed);
}

void Frames::swapped(EGLSurface surface, uint64_t begin, uint64_t end) noexcept try {
  const std::lock_guard lock(mutex_);
  if (!active()) return;
  numbers_.swaps++;
  numbers_.swap_time += end - begin;
  uint64_t& last = last_swap_[surface];
  if (last != 0) {
    const uint64_t time = end - last;
    numbers_.shortest = numbers_.latest == 0 ? time : std::min(numbers_.shortest, time);
    numbers_.longest = std::max(numbers_.longest, time);
    numbers_.latest = time;
    numbers_.frames++;
    numbers_.frame_time += time;
  }
  last = end;
} catch (const std::bad_alloc&) {
}

void Frames::forget(EGLSurface surface) noexcept {
  const std::lock_guard lock(mutex_);
  last_swap_.erase(surface);
}

FrameNumbers Frames::numbers() const {
  const std::lock_guard lock(mutex_);
  return numbers_;
}

void Frames::reset_extremes() {
  const std::lock_guard lock(mutex_);
  numbers_.latest = numbers_.shortest = numbers_.longest = 0;
}

Frames& frames() {
  static Frames& all = kept(std::make_unique<Frames>());
  return all;
}

}  // namespace tally::egl
