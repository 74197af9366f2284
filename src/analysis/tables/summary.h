// What a capture is, before any table: who made it, of what, and what it does not hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

// Shaders or pipelines that ran uncounted, together where the reason is the same.
struct Uncounted {
  std::string what;  // "blur.frag fragment"
  std::string reason;
  uint64_t commands = 0;  // executions of commands that used it
};

struct DeviceSummary {
  std::string name;
  std::string driver;       // "llvmpipe Mesa 22.3.6"
  std::string api;          // "Vulkan", "GL"
  std::string api_version;  // "1.3.230"; of GL the driver's text says it
  std::string not_captured;
};

struct Summary {
  std::string path;
  std::string tool_version;
  std::vector<std::string> command_line;
  int64_t start_unix_ns = 0;
  std::optional<int64_t> duration_ns;
  std::optional<int64_t> exit_status;
  bool finished = false;  // the writer came to its end
  std::string frame_range;
  std::string shader_pattern;
  uint64_t processes = 0;
  std::vector<DeviceSummary> devices;
  // Of the selected part.
  uint64_t frames = 0;
  bool has_commands = false;  // Vulkan was captured, not only GL profiled
  // Those in which no pipeline is used for the first time, on any device.
  std::vector<FrameRange> warm_frames;
  uint64_t passes = 0;
  uint64_t draws = 0;
  uint64_t dispatches = 0;
  uint64_t pipelines = 0;
  uint64_t shaders_counted = 0;
  std::vector<Uncounted> uncounted;
  // Submitted in what was to be captured, but not in the capture.
  uint64_t commands_missing = 0;
  uint64_t processes_cut_off = 0;  // of which it is not known how many commands are missing
  std::vector<store::MessageRow> messages;

  // Everything that was to be captured is there.
  bool complete() const { return finished && commands_missing == 0 && processes_cut_off == 0; }
};

Summary summarize(const Model& model);

}  // namespace tally::analysis
