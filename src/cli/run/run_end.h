// How a `tally run` ended, and what it says about that. Every message follows from one state, so
// that messages never contradict each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/tables/summary.h"
#include "base/status.h"
#include "platform/program.h"

namespace tally::cli {

struct RunEnd {
  std::string program;          // that the command line starts, without its launchers
  std::string file;             // the capture
  std::string tally = "tally";  // as the user can call it
  platform::ChildEnd application;
  bool connected = false;                       // a process sent something
  Status written;                               // the capture was written to its end
  Result<analysis::Summary> summary = Error{};  // of the file
  std::vector<std::string> hints;               // why nothing may have connected
  std::vector<std::string> refusals;  // what was asked for and is not in the capture, and why

  // The file is a capture that a report can show.
  bool has_capture() const { return connected && summary.ok(); }
  bool complete() const {
    return has_capture() && written.ok() && summary->complete() &&
           std::ranges::all_of(summary->replaced,
                               [](const analysis::Replaced& one) { return one.refusal.empty(); });
  }
};

// In this order, one line each. `quiet`: only what is missing from the capture.
std::vector<std::string> messages(const RunEnd& end, bool quiet);

}  // namespace tally::cli
