// The blocks of a chunk, up to 64, as bits of one word.
#pragma once

#include <bit>
#include <cstdint>

namespace tally::counters {

// `count` ones from bit `first` upward; first + count <= 64.
constexpr uint64_t block_run(uint32_t first, uint32_t count) {
  const uint64_t ones = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  return ones << first;
}

// The lowest run of `count` ones in `mask`, or -1.
constexpr int find_block_run(uint64_t mask, uint32_t count) {
  // After the loop a bit is set where `count` ones begin.
  uint64_t starts = mask;
  for (uint32_t i = 1; i < count && starts != 0; ++i) starts &= mask >> i;
  return starts == 0 ? -1 : std::countr_zero(starts);
}

}  // namespace tally::counters
