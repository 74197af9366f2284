// The captured frames that a receiver knows, by index: each captured frame counts, others do not.
// Frames arrive nearly in order, and eventually all arrive.
// So the set stays a few ranges however long the application runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

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

}  // namespace tally::capture
