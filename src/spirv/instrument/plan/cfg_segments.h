// The flow graph on which counters are placed: the functions that an entry point reaches, cut into
// segments that are executed from their first instruction to their last or not at all.
//
// A block is one segment unless something in its middle may end the invocation or turn it into a
// helper: a call of a function that may do so, a demotion, a reported intersection. Then it is cut
// behind that, and the part before also leads out of the function. Executions of a block are those
// of its first segment.
//
// What is certain never to run has no edges: blocks that nothing branches to, what stands behind a
// demotion and nowhere else, and what ends in OpUnreachable, since to get there is undefined.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/instrument/plan/placement.h"

namespace tally::spirv {

struct CfgSegment {
  uint32_t function;   // index into the module's functions
  uint32_t block;      // in the public numbering
  uint32_t insert_at;  // the instruction before which code that counts the segment stands
  bool begins_block = false;
  bool runs = false;
  bool once = false;        // at most once in an invocation
  uint32_t loop_depth = 0;  // within its function
};

// Where an invocation ends, or stops to count: what it counted must be added before.
struct Exit {
  enum class Kind {
    End,     // it ends here
    Demote,  // it goes on as a helper
    MayEnd,  // it may end here, or go on
  };
  uint32_t instruction;
  Kind kind;
};

struct SegmentGraph {
  std::vector<CfgSegment> segments;  // grouped by function, in module order within it
  std::vector<Exit> exits;           // in all functions; at returns in the entry point's alone
  FlowGraph flow;              // its vertices are the segments; only main's entry is not known
  uint32_t entry_segment = 0;  // of the entry point
  uint32_t block_count = 0;
  // Functions (indices) of which no block is counted: instructions on cooperative matrices call
  // them, as often as the implementation chooses.
  std::vector<uint32_t> left_out;

  static Result<SegmentGraph> build(const AnalyzedModule& analyzed, const EntryPoint& entry);
};

}  // namespace tally::spirv
