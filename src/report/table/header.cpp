#include "report/table/header.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "report/table/display_text.h"
#include "store/format/schema.h"

namespace tally::report {
namespace {

using analysis::Summary;

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr size_t kMaxReasons = 8;
constexpr size_t kMaxMessages = 8;
constexpr size_t kMaxRanges = 6;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string file_name(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string start_text(const Summary& s) {
  const std::time_t seconds = s.start_unix_ns / kNanosecondsPerSecond;
  try {
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
  } catch (const fmt::format_error&) {  // no year has it
    return "unknown";
  }
}

std::string captured_text(const Summary& s) {
  std::string text = start_text(s);
  if (s.duration_ns)
    text += fmt::format(", {}", duration_text(static_cast<double>(*s.duration_ns)));
  text += ", by tally " + s.tool_version;
  if (s.exit_status && *s.exit_status != 0)
    text += fmt::format("; the application ended with status {}", *s.exit_status);
  return text;
}

// "frames 3-9", "frames 3-9, the last 2", "the last 2 frames"
std::string limit_of_frames(const Summary& s) {
  if (s.frame_range.empty()) return {};
  if (!s.frame_range.starts_with("the last ")) return "frames " + s.frame_range;
  return s.frame_range + (s.frame_range == "the last 1" ? " frame" : " frames");
}

std::string limits_text(const Summary& s) {
  std::string text = limit_of_frames(s);
  if (!s.shader_pattern.empty())
    text += (text.empty() ? "" : ", ") + ("shaders '" + s.shader_pattern + "'");
  return text;
}

// The frames whose GPU time includes no first use of a pipeline.
std::string warm_text(const Summary& s) {
  if (s.draws + s.dispatches == 0) return {};
  if (s.warm_frames.empty()) return "none: every frame uses a pipeline for the first time";
  const FrameRange& first = s.warm_frames.front();
  const bool is_one = s.warm_frames.size() == 1 && first.first == first.last;
  std::string text = is_one ? "frame " : "frames ";
  size_t shown = 0;
  for (const FrameRange& range : s.warm_frames) {
    if (shown == kMaxRanges) break;
    if (shown++ != 0) text += ", ";
    text += std::to_string(range.first);
    if (range.last != range.first) text += "-" + std::to_string(range.last);
  }
  if (s.warm_frames.size() > kMaxRanges) text += " ...";
  return text + ": no pipeline is used for the first time in " + (is_one ? "it" : "them");
}

// Equal texts once, in the order of the first: "text (3 devices)".
std::vector<std::string> merged_devices(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, uint64_t>> merged;
  for (const std::string& text : texts) {
    const auto found = std::ranges::find(merged, text, &std::pair<std::string, uint64_t>::first);
    if (found == merged.end())
      merged.emplace_back(text, 1);
    else
      ++found->second;
  }
  std::vector<std::string> lines;
  for (const auto& [text, count] : merged)
    lines.push_back(count == 1 ? text : fmt::format("{} ({})", text, counted(count, "device")));
  return lines;
}

std::vector<std::string> device_lines(const Summary& s) {
  std::vector<std::string> texts;
  for (const analysis::DeviceSummary& device : s.devices) {
    texts.push_back(device.api_version.empty()
                        ? fmt::format("{}; {}", device.name, device.driver)
                        : fmt::format("{}; {}; {} {}", device.name, device.driver, device.api,
                                      device.api_version));
  }
  return merged_devices(texts);
}

class Lines {
 public:
  explicit Lines(size_t width) : width_(width) {}

  void add(const std::string& title, const std::string& value) {
    if (value.empty()) return;
    text_ +=
        shortened(fmt::format("  {}{}", left_aligned(title, 13), printable(value)), width_) + "\n";
  }

  std::string take() { return std::move(text_); }

 private:
  size_t width_;
  std::string text_;
};

// `like`: those whose mean time some have. `no_time`: why others have none.
void add_times(Lines& lines, const analysis::TimedSum& times, std::string_view what,
               std::string_view like, std::string_view no_time) {
  if (times.estimated != 0) {
    lines.add(
        "times",
        fmt::format("{} {} have the mean GPU time of {}: {} +- {} for all {} (standard error)",
                    with_separators(times.estimated), what, like, duration_text(times.time_ns),
                    duration_text(times.error_ns), what));
  }
  if (times.untimed != 0) {
    lines.add("times", fmt::format("{} {} have no GPU time, because {} (tally run --times draws "
                                   "times each)",
                                   with_separators(times.untimed), what, no_time));
  }
}

}  // namespace

std::string amounts(const Summary& s) {
  if (!s.has_commands) return counted(s.frames, "frame");
  return fmt::format("{}, {}, {}, {}", counted(s.frames, "frame"), counted(s.passes, "pass"),
                     counted(s.draws, "draw"), counted(s.dispatches, "dispatch"));
}

std::string frames_line(const Summary& s) {
  const bool usual = s.frames_end_at.empty() || s.frames_end_at == "presents" ||
                     s.frames_end_at == "swaps" || s.frames_end_at == "presents and swaps";
  return usual ? std::string() : "end at " + s.frames_end_at;
}

std::string device_names(const Summary& s) {
  if (s.devices.empty()) return "no device";
  std::vector<std::string> texts;
  for (const analysis::DeviceSummary& device : s.devices) texts.push_back(device.name);
  const std::vector<std::string> names = merged_devices(texts);
  if (names.size() == 1) return names.front();
  return fmt::format("{} and {} more", names.front(), names.size() - 1);
}

std::string shaders_line(const Summary& s) {
  if (!s.has_commands) return {};
  std::string text = counted(s.shaders_counted, "shader") + " counted";
  if (!s.uncounted.empty()) text += fmt::format(", {} not", with_separators(s.uncounted.size()));
  return text;
}

std::vector<std::string> replaced_lines(const Summary& s) {
  std::vector<std::string> lines;
  for (const analysis::Replaced& one : s.replaced) {
    if (one.refusal.empty()) lines.push_back(fmt::format("{} by {}", one.shader, one.file));
  }
  return lines;
}

std::vector<std::string> not_replaced_lines(const Summary& s) {
  std::vector<std::string> lines;
  for (const analysis::Replaced& one : s.replaced) {
    if (!one.refusal.empty())
      lines.push_back(fmt::format("{} by {}: {}", one.shader, one.file, one.refusal));
  }
  return lines;
}

std::string names_hint(const Summary& s) {
  if (s.has_names) return {};
  return "none; llama.cpp gives names with GGML_VK_DEBUG_MARKERS=1, Godot with "
         "--generate-spirv-debug-info";
}

std::vector<std::string> uncounted_lines(const Summary& s, size_t max_lines) {
  std::vector<std::string> lines;
  for (const analysis::Uncounted& entry : s.uncounted) {
    if (lines.size() == max_lines) break;
    lines.push_back(fmt::format("{}: {}", entry.what, entry.reason));
  }
  if (s.uncounted.size() > max_lines)
    lines.push_back(fmt::format("and {} more", s.uncounted.size() - max_lines));
  return lines;
}

std::vector<std::string> missing_lines(const Summary& s) {
  std::vector<std::string> lines;
  if (!s.finished) {
    lines.push_back(fmt::format(
        "the end: tally run still writes the capture or was killed, and what arrived in its last "
        "{} s is not in the file",
        store::kCommitSeconds));
  }
  std::vector<std::string> not_captured;
  for (const analysis::DeviceSummary& device : s.devices) {
    if (!device.not_captured.empty())
      not_captured.push_back(
          fmt::format("{} was not captured: {}", device.name, device.not_captured));
  }
  for (std::string& line : merged_devices(not_captured)) lines.push_back(std::move(line));
  if (s.commands_missing != 0) {
    lines.push_back(counted(s.commands_missing, "command") +
                    " whose counts were never read (the process ended, or the device was lost; see "
                    "the warnings)");
  }
  if (s.processes_cut_off != 0) {
    lines.push_back(counted(s.processes_cut_off, "process") +
                    " stopped sending: the number of missing commands is unknown");
  }
  return lines;
}

std::string capture_header(const Summary& s, size_t width) {
  Lines lines(width);
  lines.add("application", joined(s.command_line));
  lines.add("captured", captured_text(s));
  lines.add("only", limits_text(s));
  for (const std::string& device : device_lines(s)) lines.add("device", device);
  lines.add("holds", amounts(s));
  lines.add("frames", frames_line(s));
  lines.add("warm", warm_text(s));
  if (s.dispatches_repeated != 0) {
    lines.add("repeated",
              fmt::format("{} of {} dispatches have the counts of an equal one",
                          with_separators(s.dispatches_repeated), with_separators(s.dispatches)));
  }
  add_times(lines, s.dispatch_times, "dispatches", "equal ones",
            "too few of equal ones in the capture have one");
  add_times(lines, s.pass_times, "passes", "similar ones",
            "they use a pipeline for the first time, or too few of similar ones have one");
  lines.add("shaders", shaders_line(s));
  for (const std::string& line : replaced_lines(s)) lines.add("replaced", line);
  for (const std::string& line : not_replaced_lines(s)) lines.add("not replaced", line);
  lines.add("names", names_hint(s));
  for (const std::string& line : uncounted_lines(s, kMaxReasons)) lines.add("not counted", line);
  for (const std::string& line : missing_lines(s)) lines.add("missing", line);
  size_t shown = 0;
  for (const store::MessageRow& message : s.messages) {
    if (message.severity == store::Severity::Info || shown == kMaxMessages) continue;
    ++shown;
    lines.add(message.severity == store::Severity::Error ? "error" : "warning", message.text);
  }
  return printable(file_name(s.path)) + "\n\n" + lines.take();
}

}  // namespace tally::report
