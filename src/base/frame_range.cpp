#include "base/frame_range.h"

#include <charconv>

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

}  // namespace tally
