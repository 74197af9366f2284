// Asks a driver in a process of our own, so that a broken one takes only that process with it.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/environment.h"

namespace tally::cli {

// The last line that `tally COMMAND` writes in this environment. The error says how it died: it is
// to be read after "asking X".
Result<std::string> run_probe_process(const std::string& command, const Environment& environment);

}  // namespace tally::cli
