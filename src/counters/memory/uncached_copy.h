// Reads of memory that the processor does not cache, which device memory usually is: each load
// fetches its data over the bus.
#pragma once

#include <cstdint>
#include <span>

namespace tally::counters {

// Copies the words to `target`. Loads whole cache lines where the processor can.
void copy_uncached(std::span<const uint64_t> source, uint64_t* target);

}  // namespace tally::counters
