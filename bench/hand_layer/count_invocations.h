// Makes a shader count its invocations with the least code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tally::bench {

struct CountInvocations {
  uint64_t counter = 0;  // device address of a 32-bit number
  bool sums = false;     // one lane adds the number of lanes; otherwise each lane adds 1
};

// Every invocation that returns from the entry point is counted. A fragment shader gets a discard
// that is never taken, without which llvmpipe drops overdrawn fragments, and keeps its early tests.
// Nothing if the module has not exactly one entry point.
std::optional<std::vector<uint32_t>> count_invocations(std::span<const uint32_t> words,
                                                       const CountInvocations& options);

}  // namespace tally::bench
