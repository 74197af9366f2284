// Child processes whose resource use is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::bench {

// Runs a program and discards its output. Returns its peak memory use in bytes. Throws unless the
// program exits with status 0.
uint64_t run_quietly(const std::vector<std::string>& words);
// The same; returns what the program writes to stderr.
std::string errors_of(const std::vector<std::string>& words);

// The resources that all child processes so far used, with their own children.
struct Usage {
  double processor = 0;         // seconds
  double context_switches = 0;  // voluntary
  double page_faults = 0;
};
Usage usage_of_children();

}  // namespace tally::bench
