// Makes a shader count its invocations with the least code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tally::bench {

// In memory, for each shader.
struct Counter {
  uint64_t count = 0;
  uint64_t address = 0;  // of `count`, or 0: do not count
  uint32_t stride = 0;   // from the counter of a draw to that of the next one, in bytes
};

struct CountInvocations {
  uint64_t counter = 0;   // device address
  bool sums = false;      // one lane adds the number of lanes; otherwise each lane adds 1
  bool as_layer = false;  // reads `address` and `stride`, and tells draws apart
};

// As a layer must: the upper half of the instance index is the number of the draw. The vertex
// shader passes the distance to the draw's counter on, at a location that programs rarely use.
//
// Every invocation that returns from the entry point is counted. A fragment shader gets a discard
// that is never taken, without which llvmpipe drops overdrawn fragments, and keeps its early tests.
// Nothing if the module has not exactly one entry point.
std::optional<std::vector<uint32_t>> count_invocations(std::span<const uint32_t> words,
                                                       const CountInvocations& options);

}  // namespace tally::bench
