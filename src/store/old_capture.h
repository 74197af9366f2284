// Makes a path free for a new capture.
#pragma once

#include <string>

#include "base/status.h"

namespace tally::store {

// Removes the capture at `path`, with the files that SQLite keeps next to it. An empty file stays.
// Any other file, and a capture that is open, is an error and stays.
Status remove_old_capture(const std::string& path);

}  // namespace tally::store
