// Chooses the segments that have counters, and the place of each counter's code.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spirv/instrument/options.h"
#include "spirv/instrument/plan/branch_edges.h"
#include "spirv/instrument/plan/cfg_segments.h"
#include "spirv/instrument/plan/counter_plan.h"
#include "spirv/instrument/plan/trip_counts.h"

namespace tally::spirv {

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
