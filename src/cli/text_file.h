// Writes small files whole or not at all.
#pragma once

#include <string>

#include "base/status.h"

namespace tally::cli {

// Replaces the file, or creates it: another process sees the old text or the new one, and a failure
// leaves the file as it is. Keeps the file's permissions. Refuses what is not a regular file.
Status replace_file(const std::string& path, const std::string& text);

}  // namespace tally::cli
