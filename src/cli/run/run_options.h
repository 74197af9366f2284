// The options of `tally run`, and what follows from them for the application's environment and the
// capture.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/run/egl_injection.h"
#include "cli/run/environment.h"
#include "store/format/definition_rows.h"

namespace tally::cli {

struct RunOptions {
  std::string output;
  std::string frames;
  int64_t every = 1;
  std::string frame_per = "present";
  std::string frame_label;
  std::string trigger;     // "": off; "true": a frame; else how many frames
  uint64_t max_bytes = 0;  // 0: no limit
  uint64_t keep = 0;       // last frames; 0: all
  std::string shader;
  std::vector<std::string> replacements;  // SHADER=FILE
  std::string driver;
  std::string egl = "auto";
  std::string sources;
  std::string html;     // empty: no HTML report
  std::string regions;  // "": off; "true": the layer chooses the size; else "16x16"
  bool region_draws = false;
  std::string times = "passes";
  bool statistics = false;
  bool branches = false;
  bool loops = false;
  bool values = false;
  std::string clocks;  // one of so many subgroups is timed; "true": the default
  std::string memory;  // lanes of a virtual subgroup; "true": the device's
  bool divergence = false;
  bool all_extensions = false;
  bool force = false;
  bool strict = false;
  bool quiet = false;
  int verbose = 0;
  std::vector<std::string> application;
};

void declare_options(CLI::App& command, RunOptions& options);
// `before` and `after_dashes`: what is no option. Throws a CLI::ParseError.
void set_application(RunOptions& options, const std::vector<std::string>& before,
                     const std::vector<std::string>& after_dashes);
// Errors that only several options together, or their texts, show.
Status check(const RunOptions& options);

// The number of frames that a request captures if it does not say how many. 0: the option is wrong.
uint64_t trigger_frames(const RunOptions& options);
// 0: it is no number from 1 to a million.
uint64_t parse_count(std::string_view text);

// `replacements`: the list for the capture layer, or empty.
Result<Environment> application_environment(const RunOptions& options, const LayerSet& layers,
                                            const EglFiles& egl, const std::string& socket,
                                            const std::string& replacements);
void print_environment_changes(const Environment& environment);
store::CaptureRow capture_row(const RunOptions& options);

}  // namespace tally::cli
