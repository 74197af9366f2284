#pragma once

#include <cstdint>

namespace tally::spirv {

// SpecIds of the 32-bit constants that say where the counters stand (probe::StageCounters). By
// default the stage is alone in its record.
struct RecordSpecIds {
  uint32_t first_counter = 0;
  uint32_t stride = 0;
};

}  // namespace tally::spirv
