#include "analysis/tables/nothing.h"

#include <fmt/format.h>

#include <algorithm>

namespace tally::analysis {
namespace {

std::string range_text(const FrameRange& range) {
  if (range.first == range.last) return fmt::format("frame {}", range.first);
  if (range.last == FrameRange{}.last) return fmt::format("frames from {} on", range.first);
  return fmt::format("frames {}-{}", range.first, range.last);
}

FrameRange frames_of(const Model& model) {
  FrameRange range{model.frames.front().number, model.frames.front().number};
  for (const store::FrameRow& frame : model.frames) {
    range.first = std::min(range.first, frame.number);
    range.last = std::max(range.last, frame.number);
  }
  return range;
}

std::string why_nothing_was_captured(const Model& model) {
  for (const store::DeviceRow& device : model.devices) {
    if (!device.not_captured.empty())
      return fmt::format("nothing was captured on {}: {}", device.name, device.not_captured);
  }
  if (!model.capture.frame_range.empty()) {
    return fmt::format(
        "nothing was captured: the application did not reach the frames {} of tally run --frames, "
        "or did nothing in them",
        model.capture.frame_range);
  }
  if (model.devices.empty())
    return "nothing was captured: the application created no Vulkan device and no EGL context";
  return "nothing was captured: the application submitted no draw and no dispatch";
}

}  // namespace

std::string why_nothing_is_selected(const Model& model) {
  const bool has_gl_frames =
      !model.frame_counters.empty() &&
      std::any_of(model.frames.begin(), model.frames.end(), [&](const store::FrameRow& frame) {
        return !model.selection.frames || model.selection.frames->contains(frame.number);
      });
  if (!model.commands.empty() || !model.passes.empty() || has_gl_frames) return {};
  if (!model.selection.frames || model.frames.empty()) return why_nothing_was_captured(model);
  return fmt::format("the capture has nothing in {}; its frames are {}",
                     range_text(*model.selection.frames), range_text(frames_of(model)));
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
  if (const std::string nothing = why_nothing_is_selected(model); !nothing.empty()) return nothing;
  if (by == By::Counter)
    return "the capture has no counters by frame: only programs that draw through EGL have them";
  if (model.commands.empty())
    return "the capture has no Vulkan commands here: for GL use --by frame or --by counter";
  if (!model.selection.shader.empty()) {
    return fmt::format("no counted command here ran a shader that matches '{}'",
                       model.selection.shader);
  }
  if (by == By::Line || by == By::Block)
    return "no command here has counts of its shaders' blocks; the overview says what is missing";
  return "the capture has nothing of this kind";
}

}  // namespace tally::analysis
