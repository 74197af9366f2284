#include "egl/group/frame_group.h"

#include <algorithm>

#include "egl/group/frames.h"

namespace tally::egl {

using Kind = CounterInfo::Kind;

// In the order of read().
FrameGroup::FrameGroup() : Group("Frame") {
  counters_ = {
      count_counter("Swaps", "swaps"),
      count_counter("Frames", "frames"),
      time_counter("Time in frames"),
      time_counter("CPU time in swaps"),
      time_counter("Latest frame time", Kind::Extreme),
      time_counter("Shortest frame time", Kind::Extreme),
      time_counter("Longest frame time", Kind::Extreme),
  };
}

void FrameGroup::add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const {
  if (std::find(chosen.begin(), chosen.end(), true) != chosen.end()) request.frames = true;
}

std::vector<uint64_t> FrameGroup::read() {
  const FrameNumbers now = frames().numbers();
  return {now.swaps,  now.frames,   now.frame_time, now.swap_time,
          now.latest, now.shortest, now.longest};
}

void FrameGroup::reset_extremes() { frames().reset_extremes(); }

}  // namespace tally::egl
