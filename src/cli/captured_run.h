// Runs a program to its end and captures its output.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/child.h"

namespace tally::cli {

struct CapturedRun {
  std::string standard_output;
  std::string standard_error;
  ChildEnd end;
  bool timed_out = false;  // the time limit expired and the program was killed
};

// Standard input is empty. Keeps at most 16 MiB of each stream.
Result<CapturedRun> run_captured(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 std::chrono::seconds limit);

}  // namespace tally::cli
