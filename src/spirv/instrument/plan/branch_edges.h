// The edges of the flow graph that leave a block with several targets, for
// BlockCountOptions::count_branches. The counts of the blocks do not determine all of them.
//
// The code that counts such an edge stands before the branch and evaluates its condition, so no
// block is split and no OpPhi changes.
#pragma once

#include <cstdint>
#include <vector>

#include "spirv/instrument/plan/cfg_segments.h"
#include "spirv/ir/instruction_builder.h"

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

}  // namespace tally::spirv
