#pragma once

#include <cstdint>

namespace tally::spirv {

// SpecIds of the 32-bit constants that locate the stage's counters in the record
// (probe::StageCounters). Their default values are for a record of this stage alone.
struct RecordSpecIds {
  uint32_t first_counter = 0;
  uint32_t stride = 0;
};

}  // namespace tally::spirv
