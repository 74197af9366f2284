#include "egl/group/frame_group.h"

#include <algorithm>

#include "egl/group/frames.h"

namespace tally::egl {

using Kind = CounterInfo::Kind;
using catalogue::Number;

// In the order of read().
FrameGroup::FrameGroup() : Group("Frame") {
  counters_ = {
      counter_info(Number::Swaps),
      counter_info(Number::Frames),
      counter_info(Number::FrameTime),
      counter_info(Number::SwapTime),
      counter_info(Number::LatestFrameTime, Kind::Extreme),
      counter_info(Number::ShortestFrameTime, Kind::Extreme),
      counter_info(Number::LongestFrameTime, Kind::Extreme),
  };
}

void FrameGroup::add_wants(const std::vector<bool>& chosen, Wants& wants) const {
  if (std::find(chosen.begin(), chosen.end(), true) != chosen.end()) wants.frames = true;
}

std::vector<uint64_t> FrameGroup::read() {
  const FrameNumbers now = frames().numbers();
  return {now.swaps,  now.frames,   now.frame_time, now.swap_time,
          now.latest, now.shortest, now.longest};
}

void FrameGroup::reset_extremes() { frames().reset_extremes(); }

}  // namespace tally::egl
