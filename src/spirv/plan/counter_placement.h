// The edges of the flow graph that leave a block with several targets, for
// BlockCountOptions::count_branches. The counts of the blocks do not determine all of them.
//
// The code that counts such an edge stands before the branch and evaluates its condition, so no
// block is split and no OpPhi changes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spirv/ir/instruction_builder.h"
#include "spirv/plan/cfg_segments.h"
#include "spirv/plan/counter_plan.h"
#include "spirv/plan/options.h"
#include "spirv/plan/trip_counts.h"

namespace tally::spirv {

class Editor;

struct BranchEdge {
  uint32_t from, to;     // segments
  uint32_t block;        // that ends in the branch: number in the BlockMap
  uint32_t target;       // which of its targets (analysis/branches.h)
  uint32_t label_id;     // of the target
  uint32_t instruction;  // the branch
  uint32_t insert_at;    // the instruction before which the edge is counted
};

// The edges of running code, by block and target. Those into undefined behaviour are left out.
std::vector<BranchEdge> find_branch_edges(const AnalyzedModule& analyzed,
                                          const SegmentGraph& graph);

// A boolean: true if the branch is about to take the edge.
uint32_t is_taken(InstructionBuilder& code, Editor& editor, const BranchEdge& edge);

// Chooses the segments that have counters, and the place of each counter's code.

struct Counter {
  enum class What { Executions, Subgroups, Outputs, Branch };
  uint32_t segment;  // index into SegmentGraph::segments; of a branch, the one that ends in it
  What what = What::Executions;
  uint32_t insert_at = 0;          // the instruction before which the code is inserted
  std::optional<TripCount> trip;   // if set, counted after the loop instead of in the segment
  uint32_t stream = 0;             // of outputs
  std::optional<BranchEdge> edge;  // of a branch
};

// The counters, and the plan from which the host derives the counts of all blocks.
struct CounterPlacement {
  std::vector<Counter> counters;
  CounterPlan plan;
};
// `output_streams` are the streams whose outputs are counted.
CounterPlacement place_counters(const AnalyzedModule& analyzed, const SegmentGraph& graph,
                                const BlockCountOptions& options, bool count_subgroups,
                                std::vector<uint32_t> output_streams);

}  // namespace tally::spirv
