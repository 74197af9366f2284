// Child processes whose resource use is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::bench {

// Runs a program and discards its output. Returns its peak memory use in bytes. Throws unless the
// program exits with status 0.
uint64_t run_quietly(const std::vector<std::string>& words);

// Seconds that all child processes so far took of the processors, with their own children.
double processor_time_of_children();

}  // namespace tally::bench
