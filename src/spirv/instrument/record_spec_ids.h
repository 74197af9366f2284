#pragma once

#include <cstdint>

namespace tally::spirv {

// SpecIds of the 32-bit constants that locate the stage's counters in the record: those of
// probe::StageCounters in bytes. Their default values are for a record of this stage alone.
struct RecordSpecIds {
  uint32_t first_byte = 0;
  uint32_t stride_bytes = 0;
};

}  // namespace tally::spirv
