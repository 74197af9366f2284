// The host clock of a capture.
#pragma once

#include <cstdint>
#include <ctime>

namespace tally::store {

// CLOCK_MONOTONIC
inline int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace tally::store
