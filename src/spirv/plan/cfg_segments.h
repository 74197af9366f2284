// The flow graph on which counters are placed: the functions that an entry point reaches, cut into
// segments that are executed from the first to the last instruction or not at all.
//
// A block is one segment unless an instruction inside it may end the invocation or demote it to a
// helper: a call of a function that may do so, a demotion, a reported intersection. The block is
// then split after that instruction, and the first part gets an edge out of the function. The
// executions of a block are those of its first segment.
//
// Code that cannot run has no edges: blocks without predecessors, code that is only reached after a
// demotion, and blocks that end in OpUnreachable, because reaching them is undefined behaviour.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/plan/placement.h"

namespace tally::spirv {

// Lanes part at branches. So where control can only go one way, the subgroups that leave a segment
// are those that enter the next. Calls of functions that branch end this: their lanes need not come
// back together.
struct CfgSegment {
  static constexpr uint32_t kNone = ~0u;

  uint32_t function;   // index into the module's functions
  uint32_t block;      // number in the BlockMap
  uint32_t insert_at;  // the instruction before which the counter is inserted
  bool begins_block = false;
  bool runs = false;
  uint32_t bound = 0;       // executed at most so often in an invocation (loop_bounds.h)
  uint32_t loop_depth = 0;  // within its function
  // The subgroups that execute the segment are those that execute this one, or kNone.
  uint32_t same_subgroups = kNone;
};

// A point where an invocation ends or stops counting. It must write its counts before.
struct Exit {
  enum class Kind {
    End,     // the invocation ends
    Demote,  // it becomes a helper
    MayEnd,  // it ends or continues
  };
  uint32_t instruction;
  Kind kind;
};
inline bool is_demotion(const Exit& exit) { return exit.kind == Exit::Kind::Demote; }
inline bool is_return(const Module& module, const Exit& exit) {
  return module.instruction(exit.instruction).opcode() == spv::Op::OpReturn;
}

// A loop that is entered by the edge from `before` to `header` and left by the edge from `test` to
// `exit`. Each time the header is executed a constant number of times, and so is `latch`, the only
// block that leads back to the header: as often as the header if it is the test, else once less.
struct ConstantLoop {
  uint32_t before, header, test, latch, exit;  // segments
  uint32_t executions;                         // of the header
};

struct SegmentGraph {
  std::vector<CfgSegment> segments;  // grouped by function, in module order within it
  std::vector<Exit> exits;           // of all functions; returns only of the entry point
  FlowGraph flow;  // a vertex for each segment; only the count of the entry segment is not known
  uint32_t entry_segment = 0;  // of the entry point
  std::vector<ConstantLoop> constant_loops;
  std::unordered_map<uint32_t, uint32_t> distinct;  // LoopBound::distinct, by segment of the header
  // Entries of functions that are executed by the subgroups of all their addends together, callers
  // before callees.
  std::vector<FlowGraph::Known> called_by_subgroups;
  uint32_t block_count = 0;
  // Indices of functions that are not counted: cooperative matrix instructions call them, and the
  // implementation chooses how often.
  std::vector<uint32_t> left_out;

  static Result<SegmentGraph> build(const AnalyzedModule& analyzed, const EntryPoint& entry);
};

}  // namespace tally::spirv
