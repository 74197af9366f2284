// Programs that are measured from outside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::bench {

// Runs a program with its output thrown away; how much memory it took at most, in bytes. Throws
// unless it ends with status 0.
uint64_t run_quietly(const std::vector<std::string>& words);

}  // namespace tally::bench
