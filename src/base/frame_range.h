// The user's choice of frames: their ends, and which are selected. Frames count from 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "base/status.h"
#include "platform/regex.h"

namespace tally {

// Both ends are inclusive.
struct FrameRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;

  bool contains(int64_t frame) const { return frame >= first && frame <= last; }

  // Parses "7", "3-9", "3-" and "-9"; returns nullopt for anything else.
  static std::optional<FrameRange> parse(std::string_view text);
};

// Ranges of frames, and of each range every Nth frame, beginning with its first.
class FrameChoice {
 public:
  static constexpr int64_t kMaxEvery = 1'000'000'000;

  FrameChoice() : ranges_{FrameRange{}} {}  // all frames
  explicit FrameChoice(int64_t every) : FrameChoice() { every_ = every; }

  // Parses ranges that commas separate: "3-9,100,200-". Ranges that overlap become one.
  static std::optional<FrameChoice> parse(std::string_view text, int64_t every = 1);

  // True if a frame from `first` to `last` is chosen.
  bool contains_any(int64_t first, int64_t last) const;
  bool contains_all() const {
    return every_ == 1 && ranges_.size() == 1 && contains_any(0, 0) && last() == INT64_MAX;
  }
  // No frame after this one is chosen.
  int64_t last() const { return ranges_.back().last; }

 private:
  std::vector<FrameRange> ranges_;  // in order, apart from each other; never empty
  int64_t every_ = 1;
};

// The settings frames, every and trigger; nullopt: frames are captured on request.
std::optional<FrameChoice> frame_choice(const Settings& settings);

// The end of a frame. Present: also a frame boundary, and without either each submission.
enum class FrameUnit { Present, Submit, Label, Fence, QueueIdle };
inline constexpr std::array<std::string_view, 5> kFrameUnitNames = {"present", "submit", "label",
                                                                    "fence", "queue-idle"};
std::optional<FrameUnit> frame_unit_from_name(std::string_view name);

// The settings frame_per and frame_label.
struct FrameEnds {
  FrameUnit unit = FrameUnit::Present;
  std::optional<platform::Regex> label;  // with FrameUnit::Label; none: all labels

  static FrameEnds from(const Settings& settings);
};

}  // namespace tally
