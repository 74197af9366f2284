// Counts that a shader keeps itself. Where a loop has a variable that begins at a constant and is
// stepped in one block alone, the variable tells behind the loop how often that block was executed:
//
//   executions = (value behind the loop - first value) / step
//
// modulo 2^32, exactly, if the step is odd: division is then a multiplication. What leaves the loop
// makes no difference as long as it gets behind it, and the step need not stand where the loop goes
// on: `++hits` in a branch tells as much. Numbers that may be computed with less than 32 bits
// (RelaxedPrecision) tell nothing.
//
// Two forms: a variable in memory that only loads and stores use, and an OpPhi, which tells how
// often the loop's header was executed: once more than it was stepped.
#pragma once

#include <cstdint>
#include <vector>

#include "spirv/instrument/plan/cfg_segments.h"

namespace tally::spirv {

struct TripCount {
  uint32_t segment;    // whose executions it tells
  uint32_t insert_at;  // the instruction behind the loop before which they are added up
  uint32_t behind;     // the segment that this begins
  uint32_t value;      // id: of the variable, or of the phi
  uint32_t type;       // of the value
  bool in_memory;
  uint32_t first;    // id of the constant
  uint32_t inverse;  // of the step, modulo 2^32
};

// At most one for each segment.
std::vector<TripCount> find_trip_counts(const AnalyzedModule& analyzed, const SegmentGraph& graph);

}  // namespace tally::spirv
