#include "capture/base/capture_settings.h"

#include <fnmatch.h>

namespace tally::capture {
namespace {

constexpr uint64_t kDefaultQueueMib = 64;
constexpr uint64_t kMaxQueueMib = 4096;
constexpr uint64_t kDefaultPatience = 10'000;
constexpr uint64_t kMaxPatience = 600'000;

Times parse_times(const std::string& text) {
  if (text == "off") return Times::Off;
  return text == "draws" ? Times::Draws : Times::Passes;
}

}  // namespace

CaptureSettings CaptureSettings::from(const Settings& settings) {
  CaptureSettings result;
  result.socket = settings.text("capture_socket", "");
  result.live_counters = settings.flag("live_counters", false);
  result.shader_pattern = settings.text("shader", "");
  result.replacements = settings.text("replace", "");
  const std::string times = settings.text("times", "passes");
  result.times = parse_times(times);
  result.counts = times != "plain";
  result.statistics = settings.flag("statistics", false);
  result.regions = settings.flag("regions", false);
  result.hide_extensions = settings.flag("hide_extensions", true);
  result.queue_bytes = settings.number("queue_mib", kDefaultQueueMib, 1, kMaxQueueMib) << 20;
  result.patience =
      std::chrono::milliseconds(settings.number("patience_ms", kDefaultPatience, 0, kMaxPatience));
  result.frames = frame_choice(settings);
  result.frame_ends = FrameEnds::from(settings);
  return result;
}

bool matches_pattern(const std::string& pattern, const std::string& text) {
  return pattern.empty() || ::fnmatch(pattern.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
}

bool matches_hash(const std::string& pattern, const std::string& hash) {
  constexpr size_t kMinDigits = 4;
  return matches_pattern(pattern, hash) ||
         (pattern.size() >= kMinDigits && matches_pattern(pattern + "*", hash));
}

}  // namespace tally::capture
