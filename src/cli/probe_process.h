// Queries a driver in a separate process, so that a driver that crashes ends only that process.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/environment.h"

namespace tally::cli {

// Returns the last line that `tally COMMAND` writes in this environment. The error describes how
// the process failed; it follows the words "the X probe".
Result<std::string> run_probe_process(const std::string& command, const Environment& environment);

}  // namespace tally::cli
