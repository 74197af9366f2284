// Where a capture goes. Nothing that exists is ever overwritten unless the user says --force, and
// then only a capture that nobody has open.
#pragma once

#include <string>

#include "base/status.h"

namespace tally::cli {

// With a name from the user: that name; an error where it exists and `force` is not given. Without
// one: <application>.tally in the current folder, or <application>-2.tally, -3 ... where that
// exists. Without `force` the file is there afterwards, empty, so that nobody else gets the name.
Result<std::string> choose_output(const std::string& asked, const std::string& application,
                                  bool force);

}  // namespace tally::cli
