// Trip counts from induction variables. For a loop whose induction variable has a constant step in
// a single block, the number of executions of that block is recovered from the variable's final
// value:
//
//   executions = (final value - start) / step
//
// If the step is odd, this is exact modulo 2^32, because division by an odd number is
// multiplication by its inverse. How the loop is left makes no difference as long as control
// reaches its merge block. The step need not be in the continue construct: `++hits` in a branch
// works as well. If the step is an odd number times 2^n, the result has n bits less, which suffice
// where the variable has no value twice (LoopBound::distinct). Values that may be computed with
// less than 32 bits (RelaxedPrecision) are not used.
//
// There are two forms: a variable in memory that is only loaded and stored, and an OpPhi. The OpPhi
// gives the executions of the loop header, one more than the number of steps.
#pragma once

#include <cstdint>
#include <vector>

#include "spirv/plan/cfg_segments.h"

namespace tally::spirv {

struct TripCount {
  uint32_t segment;    // whose executions are recovered
  uint32_t insert_at;  // the instruction after the loop before which the code is inserted
  uint32_t behind;     // the segment after the loop
  uint32_t value;      // id of the variable or of the OpPhi
  uint32_t type;       // of the value
  bool in_memory;
  uint32_t first;    // id of the start
  bool descends;     // the step is negative
  uint32_t shift;    // its absolute value is an odd number times 2^shift
  uint32_t inverse;  // the multiplicative inverse of that number, modulo 2^32
};

// At most one for each segment.
std::vector<TripCount> find_trip_counts(const AnalyzedModule& analyzed, const SegmentGraph& graph);

}  // namespace tally::spirv
