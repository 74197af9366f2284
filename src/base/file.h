// Reads a file whose name comes from outside. Accepts only a regular file of bounded size. Opening
// never blocks, as it would on a FIFO without a writer.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace tally {

inline constexpr size_t kSmallFileLimit = size_t{1} << 20;

Result<std::string> read_small_file(const std::string& path, size_t limit = kSmallFileLimit);

}  // namespace tally
