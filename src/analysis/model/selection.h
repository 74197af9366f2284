// Which part of a capture a table is about.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tally::analysis {

// Frames from first to last, both included.
struct FrameRange {
  int64_t first = 0;
  int64_t last = std::numeric_limits<int64_t>::max();

  bool contains(int64_t frame) const { return frame >= first && frame <= last; }
};

// "7", "3-9", "3-" or "-9".
Result<FrameRange> parse_frame_range(std::string_view text);

struct Selection {
  std::optional<FrameRange> frames;  // none: all
  std::string shader;                // a pattern, empty: all; see matches_pattern
};

// A pattern with * or ? must match the whole text, one without may stand anywhere in it. Case does
// not matter.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace tally::analysis
