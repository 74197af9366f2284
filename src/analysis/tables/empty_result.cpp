#include "analysis/tables/empty_result.h"

#include <fmt/format.h>

#include <string_view>

namespace tally::analysis {
namespace {

std::string range_text(const FrameRange& range) {
  if (range.first == range.last) return fmt::format("frame {}", range.first);
  if (range.last == FrameRange{}.last) return fmt::format("frames from {} on", range.first);
  return fmt::format("frames {}-{}", range.first, range.last);
}

constexpr std::string_view kOnRequest = "on request", kLast = "the last ";

// "3-9, the last 5" -> "3-9"
std::string_view frames_asked_for(std::string_view range) {
  range = range.substr(0, range.find(kLast));
  while (range.ends_with(' ') || range.ends_with(',')) range.remove_suffix(1);
  return range;
}

std::string why_capture_is_empty(const Summary& s) {
  for (const DeviceSummary& device : s.devices) {
    if (!device.not_captured.empty())
      return fmt::format("nothing was captured on {}: {}", device.name, device.not_captured);
  }
  if (s.commands_missing != 0) {
    return fmt::format(
        "nothing was captured: the counts of {} that the application submitted were never read",
        s.commands_missing == 1 ? "the command"
                                : fmt::format("all {} commands", s.commands_missing));
  }
  if (s.processes_cut_off != 0)
    return "nothing was captured: the application stopped sending before its first command";
  if (!s.finished) return "the capture was not finished, and nothing was written";
  const std::string_view frames = frames_asked_for(s.frame_range);
  if (frames.starts_with(kOnRequest)) {
    return "nothing was captured: no frame was asked for (tally trigger), or nothing was done in "
           "those that were";
  }
  if (!frames.empty()) {
    return fmt::format(
        "nothing was captured: the application did not reach the frames {} of tally run --frames, "
        "or did nothing in them",
        frames);
  }
  if (s.devices.empty())
    return "nothing was captured: the application created no Vulkan device and no EGL context";
  return "nothing was captured: the application submitted no draw and no dispatch";
}

}  // namespace

std::string why_empty(const Summary& summary) {
  if (!summary.empty()) return {};
  if (!summary.selected_frames || !summary.frames_of_capture) return why_capture_is_empty(summary);
  const FrameRange& all = *summary.frames_of_capture;
  return fmt::format("the capture has nothing in {}; it has {}",
                     range_text(*summary.selected_frames), range_text(all));
}

std::string why_selection_is_empty(const Model& model) {
  if (!model.commands.empty() || !model.passes.empty()) return {};
  return why_empty(summarize(model));
}

std::string why_no_regions(const Model& model, std::optional<uint32_t> pass) {
  if (model.region_counters.empty())
    return "the capture has no counters by region: capture with tally run --regions";
  if (pass)
    return fmt::format("no pass with number {} was counted by region (see --by pass)", *pass);
  return "no pass of these frames was counted by region (see --by pass)";
}

std::string why_no_rows(const Model& model, By by, const TableOptions& options) {
  if (by == By::Region) return why_no_regions(model, options.pass);
  if (const std::string nothing = why_selection_is_empty(model); !nothing.empty()) return nothing;
  if (by == By::Counter)
    return "the capture has no counters by frame: only programs that draw through EGL have them";
  if (model.commands.empty())
    return "the capture has no Vulkan commands here: for GL use --by frame or --by counter";
  if (!model.selection.shader.empty()) {
    return fmt::format("no counted command in the selection ran a shader that matches '{}'",
                       model.selection.shader);
  }
  if (by == By::Line || by == By::Block)
    return "no command in the selection has counts by block; the overview says what is missing";
  return "the capture has no such data";
}

}  // namespace tally::analysis
