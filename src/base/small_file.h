// Reads a file that somebody else has named: only a regular one of a bounded size, and opening it
// never waits, as it would for a FIFO without a writer.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace tally {

inline constexpr size_t kSmallFileLimit = size_t{1} << 20;

Result<std::string> read_small_file(const std::string& path, size_t limit = kSmallFileLimit);

}  // namespace tally
