// Finds the sites of an entry point and gives them counters (BlockCountOptions::sites).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spirv/analysis/memory_access.h"
#include "spirv/plan/cfg_segments.h"
#include "spirv/plan/counter_plan.h"
#include "spirv/plan/options.h"

namespace tally::spirv {

// A structured loop. Its counters are Iterations, LongestRun and those of Runs, in that order.
//
// An iteration begins where the loop's first test lets it go on: the first conditional branch, if
// nothing but plain branches comes before it and one of its targets is the merge block. A loop
// without such a test begins an iteration at its header.
struct LoopSite {
  uint32_t first_counter;
  uint32_t begin;       // an iteration begins before this instruction,
  uint32_t unless = 0;  // ... if this boolean is not `leaves_if`; 0: always
  bool leaves_if = false;
  uint32_t end;                   // a run ends before this instruction,
  std::vector<uint32_t> returns;  // ... and before those
};

// Instructions of one line and block whose values are looked at, up to a call or a demotion; one
// instruction where there are no lines. The site is the first one. Counters are kNone where there
// is nothing to count.
struct ValueSite {
  std::vector<uint32_t> instructions;
  uint32_t result = kNone;  // Nan; Infinite and Denormal follow
  uint32_t zero_division = kNone;
  uint32_t negative = kNone;
  uint32_t out_of_range = kNone;
};

// The values of an instruction to look at.
struct CheckedValues {
  bool result = false;       // a float
  bool divisor = false;      // its second operand
  bool is_positive = false;  // the extended instruction's first operand
  bool indices = false;      // checked_indices()

  bool any() const { return result || divisor || is_positive || indices; }
};
CheckedValues checked_values(const Module& module, const Instruction& instruction);

// An index of an instruction that may be out of range.
struct CheckedIndex {
  uint32_t index;       // id
  uint32_t length = 0;  // id of an integer constant, or 0:
  uint32_t count = 0;   // the number itself
};
// The indices of an access chain, or of an instruction on a vector.
std::vector<CheckedIndex> checked_indices(const Module& module, const Instruction& instruction);

// A part of the code that is timed: the whole shader, a loop, a call of a long function. Its
// counters are Cycles and TimedRuns; those of the whole shader are followed by TimedInvocations.
struct ClockSite {
  uint32_t first_counter;
  std::vector<uint32_t> begins;  // before these instructions
  std::vector<uint32_t> ends;    // before these
};
// An access to memory. Its counters are RequestedBytes, then Subgroups and Sectors and Lines, or
// Subgroups and ExtraPasses, or Subgroups and Texels, in that order. In virtual subgroups a second
// counter of ExtraPasses, which is subtracted, follows the first, and MissedAccesses is the last.
struct MemorySite {
  enum class Units { None, Sectors, Banks, Texels };
  uint32_t instruction;
  uint32_t first_counter;
  Units units;
  MemoryAccess access;
  std::vector<uint32_t> loops = {};  // around it in its function: SitePlan::counted_loops
};
// Where lanes can be known to be together: in the same iterations of the same loops, in functions
// that the same calls entered. Only for virtual subgroups.
struct CountedLoop {
  uint32_t begin;                // an iteration begins before this instruction
  std::vector<uint32_t> before;  // the loop is entered after these
};
struct CountedCall {
  uint32_t instruction;
  std::vector<uint32_t> loops;  // around it in its function
};
// The conflicts of accesses to workgroup memory that extend further are not counted.
inline constexpr uint32_t kMaxSharedExtent = 16;

struct SitePlan {
  std::vector<LoopSite> loops;
  std::vector<ValueSite> values;
  std::vector<ClockSite> clocks;  // the whole shader first
  std::vector<MemorySite> memory;
  uint32_t sketch = kNone;  // the first counter of a LineSketch of the lines that they touch
  std::vector<CountedLoop> counted_loops;
  std::vector<CountedCall> counted_calls;
  bool is_cut = false;  // there are more sites than are counted

  bool empty() const { return loops.empty() && values.empty() && clocks.empty() && memory.empty(); }
};

// Whose sectors, lines and passes are counted; None: only the bytes of accesses.
enum class MemoryLanes { None, Device, Virtual };

// Adds the counters to `plan`.
SitePlan plan_sites(const AnalyzedModule& analyzed, const EntryPoint& entry,
                    const SegmentGraph& graph, const SiteOptions& options, MemoryLanes lanes,
                    CounterPlan& plan);

}  // namespace tally::spirv
