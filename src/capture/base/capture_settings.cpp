#include "capture/base/capture_settings.h"

#include <cctype>
#include <string_view>

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

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Matches one character with the set at the beginning of the pattern, "[...]" or "[!...]", and
// removes the set. Nothing: it has no end, so it is no set.
std::optional<bool> take_set(std::string_view& pattern, char character) {
  size_t at = 1;
  const bool excludes = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (excludes) ++at;
  bool found = false;
  for (const size_t first = at; at < pattern.size(); ++at) {
    if (pattern[at] == ']' && at > first) {
      pattern.remove_prefix(at + 1);
      return found != excludes;
    }
    const char low = lower(pattern[at]);
    const bool is_range =
        at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']';
    if (is_range) at += 2;
    found = found || (character >= low && character <= lower(pattern[at]));
  }
  return std::nullopt;
}

// Matches one character with the beginning of the pattern, which is no *, and removes that.
bool take_one(std::string_view& pattern, char character) {
  const char first = pattern.front();
  if (first == '[') {
    if (const auto found = take_set(pattern, lower(character))) return *found;
  }
  if (first == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  const bool found = first == '?' || lower(pattern.front()) == lower(character);
  pattern.remove_prefix(1);
  return found;
}

// On a mismatch, returns to the last * and lets it match one character more.
bool glob(std::string_view pattern, std::string_view text) {
  std::string_view after_star, star_text;
  bool has_star = false;
  while (true) {
    if (pattern.starts_with('*')) {
      has_star = true;
      pattern.remove_prefix(1);
      after_star = pattern;
      star_text = text;
      continue;
    }
    if (text.empty() && pattern.empty()) return true;
    if (!text.empty() && !pattern.empty() && take_one(pattern, text.front())) {
      text.remove_prefix(1);
      continue;
    }
    if (!has_star || star_text.empty()) return false;
    star_text.remove_prefix(1);
    text = star_text;
    pattern = after_star;
  }
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
  result.repeat_at_once = settings.flag("repeat_at_once", false);
  result.statistics = settings.flag("statistics", false);
  result.regions = settings.flag("regions", false);
  result.region_draws = settings.flag("region_draws", false);
  result.hide_extensions = settings.flag("hide_extensions", true);
  result.queue_bytes = settings.number("queue_mib", kDefaultQueueMib, 1, kMaxQueueMib) << 20;
  result.patience =
      std::chrono::milliseconds(settings.number("patience_ms", kDefaultPatience, 0, kMaxPatience));
  result.frames = frame_choice(settings);
  result.frame_ends = FrameEnds::from(settings);
  return result;
}

bool matches_pattern(const std::string& pattern, const std::string& text) {
  return pattern.empty() || glob(pattern, text);
}

bool matches_hash(const std::string& pattern, const std::string& hash) {
  constexpr size_t kMinDigits = 4;
  return matches_pattern(pattern, hash) ||
         (pattern.size() >= kMinDigits && matches_pattern(pattern + "*", hash));
}

}  // namespace tally::capture
