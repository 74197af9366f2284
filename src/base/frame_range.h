// A range of frames that a user selects. Both ends are inclusive; frames count from 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tally {

struct FrameRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;

  bool contains(int64_t frame) const { return frame >= first && frame <= last; }

  // Parses "7", "3-9", "3-" and "-9"; returns nullopt for anything else.
  static std::optional<FrameRange> parse(std::string_view text);
};

}  // namespace tally
