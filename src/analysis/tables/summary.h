// The summary of a capture: its origin, its contents, and what is missing from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

// Shaders or pipelines that ran uncounted, grouped by reason.
struct Uncounted {
  std::string what;  // "blur.frag fragment"
  std::string reason;
  uint64_t commands = 0;  // executions of commands that used them
};

// The fate of a shader that `tally run --replace` names.
struct Replaced {
  std::string shader;  // "scene.frag fragment"; as the user named it, if none matched
  std::string file;
  std::string refusal;  // why it was not replaced; empty: it was
};

struct DeviceSummary {
  std::string name;
  std::string driver;       // "llvmpipe Mesa 22.3.6"
  std::string api;          // "Vulkan", "GL"
  std::string api_version;  // "1.3.230"; empty for GL, whose driver text contains it
  std::string not_captured;
};

// The GPU times of all dispatches outside of passes, or of all passes.
struct TimedSum {
  uint64_t estimated = 0;  // those with the mean time of similar ones
  uint64_t untimed = 0;    // Model::dispatches_untimed or passes_untimed
  double time_ns = 0;      // the sum, with its standard error
  double error_ns = 0;
};

struct Summary {
  std::string path;
  std::string tool_version;
  std::vector<std::string> command_line;
  int64_t start_unix_ns = 0;
  std::optional<int64_t> duration_ns;
  std::optional<int64_t> exit_status;
  bool finished = false;  // the writer finished the file
  std::string frame_range;
  std::string shader_pattern;
  std::vector<Replaced> replaced;
  // The ends of the capture's frames: "presents", "frame boundaries and submissions". Empty: no
  // frame has ended.
  std::string frames_end_at;
  uint64_t processes = 0;
  std::vector<DeviceSummary> devices;
  std::optional<FrameRange> selected_frames;  // nullopt: all
  // The following members cover the selected part of the capture.
  uint64_t frames = 0;  // that hold a command, a pass or counters of GL
  // The first and the last such frame of the whole capture; nullopt: there is none.
  std::optional<FrameRange> frames_of_capture;
  bool has_commands = false;  // Vulkan was captured, not only GL profiled
  // The frames in which no pipeline is used for the first time, on any device.
  std::vector<FrameRange> warm_frames;
  uint64_t passes = 0;
  uint64_t draws = 0;
  uint64_t dispatches = 0;
  uint64_t dispatches_repeated = 0;  // of them: with the counts of an equal one
  TimedSum dispatch_times, pass_times;
  uint64_t pipelines = 0;
  uint64_t shaders_counted = 0;
  bool has_names = true;  // a shader that ran, or a pipeline of it, has a name; or none ran
  std::vector<Uncounted> uncounted;
  // Submitted within the frames to capture, but missing from the capture.
  uint64_t commands_missing = 0;
  uint64_t processes_cut_off = 0;  // processes with an unknown number of missing commands
  std::vector<store::MessageRow> messages;

  // The selected part has nothing to show.
  bool empty() const { return frames == 0; }
  // True if the capture contains everything that was to be captured.
  bool complete() const { return finished && commands_missing == 0 && processes_cut_off == 0; }
};

Summary summarize(const Model& model);

// Frames are counted in one way in every report. The result has the order of the
// model's frames.
enum class FrameContent {
  Nothing,  // it is not shown: nothing of it was captured, and nothing is known to be missing
  Shown,    // it is shown, and not counted: GL reports it too, or what it held is missing
  Counted,
};
std::vector<FrameContent> frame_contents(const Model& model);

}  // namespace tally::analysis
