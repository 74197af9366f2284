// Arithmetic on sizes that a module declares: a result beyond `max` is `max`.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tally::spirv {

template <uint64_t max>
constexpr uint64_t saturating_sum(uint64_t a, uint64_t b) {
  return std::min(a + b, max);
}

template <uint64_t max>
constexpr uint64_t saturating_product(uint64_t a, uint64_t b) {
  return b != 0 && a > max / b ? max : std::min(a * b, max);
}

}  // namespace tally::spirv
