// Chooses the file of a capture. Existing files are overwritten only with --force, and then only
// captures that no process has open.
#pragma once

#include <string>

#include "base/status.h"

namespace tally::cli {

// Returns the name that the user asked for; it is an error if the file exists and `force` is not
// set. Without a name, returns <application>.tally in the current folder, or <application>-2.tally,
// -3 ... if that exists. Without `force` the file is created empty, which reserves its name.
Result<std::string> choose_output(const std::string& asked, const std::string& application,
                                  bool force);

}  // namespace tally::cli
