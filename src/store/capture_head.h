// The first check of a capture file.
#pragma once

#include <string>

#include "base/status.h"

namespace tally::store {

// Checks that the file is a capture of a version that the reader accepts and is not truncated, from
// SQLite's header and the file's size alone: before SQLite opens the file.
Status check_capture_head(const std::string& path);

}  // namespace tally::store
