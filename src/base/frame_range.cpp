#include "base/frame_range.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/log.h"

namespace tally {
namespace {

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<FrameRange> FrameRange::parse(std::string_view text) {
  const size_t dash = text.find('-');
  const std::string_view left = text.substr(0, dash);
  const std::string_view right = dash == std::string_view::npos ? left : text.substr(dash + 1);
  if (left.empty() && right.empty()) return std::nullopt;
  FrameRange range;
  if (!left.empty()) {
    const auto number = parse_number(left);
    if (!number) return std::nullopt;
    range.first = *number;
  }
  if (!right.empty()) {
    const auto number = parse_number(right);
    if (!number) return std::nullopt;
    range.last = *number;
  }
  if (range.first > range.last) return std::nullopt;
  return range;
}

std::optional<FrameChoice> FrameChoice::parse(std::string_view text, int64_t every) {
  std::vector<FrameRange> ranges;
  for (size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    const auto range = FrameRange::parse(text.substr(0, comma));
    if (!range) return std::nullopt;
    ranges.push_back(*range);
    if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const FrameRange& a, const FrameRange& b) { return a.first < b.first; });
  FrameChoice choice(every);
  choice.ranges_.clear();
  for (const FrameRange& range : ranges) {
    if (!choice.ranges_.empty() && range.first <= choice.ranges_.back().last) {
      choice.ranges_.back().last = std::max(choice.ranges_.back().last, range.last);
    } else {
      choice.ranges_.push_back(range);
    }
  }
  return choice;
}

bool FrameChoice::contains_any(int64_t first, int64_t last) const {
  auto range =
      std::lower_bound(ranges_.begin(), ranges_.end(), first,
                       [](const FrameRange& one, int64_t frame) { return one.last < frame; });
  for (; range != ranges_.end() && range->first <= last; ++range) {
    const int64_t from = std::max(first, range->first);
    const int64_t skipped = (from - range->first) % every_;
    const int64_t left = std::min(last, range->last) - from;  // frames after `from`
    if (skipped == 0 || every_ - skipped <= left) return true;
  }
  return false;
}

std::optional<FrameChoice> frame_choice(const Settings& settings) {
  if (settings.flag("trigger", false)) return std::nullopt;
  const auto every =
      static_cast<int64_t>(settings.number("every", 1, 1, uint64_t{FrameChoice::kMaxEvery}));
  const std::string frames = settings.text("frames", "");
  if (frames.empty()) return FrameChoice(every);
  auto choice = FrameChoice::parse(frames, every);
  if (choice) return choice;
  log(LogLevel::Warning,
      "setting frames is \"{}\", not ranges such as 10-20 or 3,10-; capturing all", frames);
  return FrameChoice(every);
}

std::optional<FrameUnit> frame_unit_from_name(std::string_view name) {
  const auto found = std::ranges::find(kFrameUnitNames, name);
  if (found == kFrameUnitNames.end()) return std::nullopt;
  return static_cast<FrameUnit>(found - kFrameUnitNames.begin());
}

FrameEnds FrameEnds::from(const Settings& settings) {
  FrameEnds ends;
  const std::string per = settings.text("frame_per", "present");
  const std::string label = settings.text("frame_label", "");
  const auto unit = frame_unit_from_name(per);
  ends.unit = unit.value_or(FrameUnit::Present);
  if (!unit) {
    log(LogLevel::Warning,
        "setting frame_per is \"{}\", not present, submit, label, fence or queue-idle; frames end "
        "at presents",
        per);
  }
  if (label.empty()) return ends;
  ends.unit = FrameUnit::Label;
  Result<platform::Regex> pattern = platform::Regex::compile(label);
  if (pattern) {
    ends.label = std::move(*pattern);
  } else {
    log(LogLevel::Warning, "setting frame_label is {}; every label ends a frame",
        pattern.error().message);
  }
  return ends;
}

}  // namespace tally
