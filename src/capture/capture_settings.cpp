#include "capture/capture_settings.h"

#include <fnmatch.h>

#include <charconv>

#include "base/log.h"

namespace tally::capture {
namespace {

constexpr uint64_t kDefaultQueueMib = 64;
constexpr uint64_t kMaxQueueMib = 4096;
constexpr uint64_t kDefaultPatience = 250;
constexpr uint64_t kMaxPatience = 60'000;

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

CaptureSettings CaptureSettings::from(const Settings& settings) {
  CaptureSettings result;
  result.socket = settings.text("capture_socket", "");
  result.shader_pattern = settings.text("shader", "");
  result.gpu_time = settings.flag("gpu_time", true);
  result.queue_bytes = settings.number("queue_mib", kDefaultQueueMib, 1, kMaxQueueMib) << 20;
  result.patience =
      std::chrono::milliseconds(settings.number("patience_ms", kDefaultPatience, 0, kMaxPatience));
  const std::string frames = settings.text("frames", "");
  if (frames.empty()) return result;
  if (const auto range = FrameRange::parse(frames)) {
    result.frames = *range;
  } else {
    log(LogLevel::Warning, "setting frames is \"{}\", not a range such as 10-20; capturing all",
        frames);
  }
  return result;
}

bool matches_pattern(const std::string& pattern, const std::string& text) {
  return pattern.empty() || ::fnmatch(pattern.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
}

}  // namespace tally::capture
