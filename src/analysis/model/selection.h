// The part of a capture that a table covers.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tally::analysis {

// A range of frames; both ends are inclusive.
struct FrameRange {
  int64_t first = 0;
  int64_t last = std::numeric_limits<int64_t>::max();

  bool contains(int64_t frame) const { return frame >= first && frame <= last; }
};

// Parses "7", "3-9", "3-" or "-9".
Result<FrameRange> parse_frame_range(std::string_view text);

struct Selection {
  std::optional<FrameRange> frames;  // nullopt: all frames
  std::string shader;                // a pattern (see matches_pattern); empty: all shaders
};

// A pattern with * or ? must match the whole text; a pattern without them may match anywhere in it.
// Matching ignores case.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace tally::analysis
