// Makes a shader count its invocations with the least code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tally::bench {

struct CountInvocations {
  uint64_t counter = 0;   // device address, or with `as_layer` the distance from the pushed address
  bool sums = false;      // one lane adds the number of lanes; otherwise each lane adds 1
  bool as_layer = false;  // as a layer must: the address of the counters is pushed, and may be null
};

// Where the address is in the push constants, behind those of the program: lavapipe has 128 bytes.
inline constexpr uint32_t kPushOffset = 120;

// Every invocation that returns from the entry point is counted. A fragment shader gets a discard
// that is never taken, without which llvmpipe drops overdrawn fragments, and keeps its early tests.
// Nothing if the module has not exactly one entry point, or no room for the address.
std::optional<std::vector<uint32_t>> count_invocations(std::span<const uint32_t> words,
                                                       const CountInvocations& options);

}  // namespace tally::bench
