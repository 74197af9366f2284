// Which segments of a module have counters, and where the code of each stands.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spirv/instrument/options.h"
#include "spirv/instrument/plan/cfg_segments.h"
#include "spirv/instrument/plan/counter_plan.h"
#include "spirv/instrument/plan/trip_counts.h"

namespace tally::spirv {

struct Counter {
  enum class What { Executions, Subgroups, Outputs };
  uint32_t segment;  // index into the graph's segments
  What what = What::Executions;
  uint32_t insert_at = 0;         // the instruction before which the code that counts stands
  std::optional<TripCount> trip;  // added up behind a loop, not in the segment
  uint32_t stream = 0;            // of outputs
};

// Counters on segments, and how the host gets from these to blocks.
struct CounterPlacement {
  std::vector<Counter> counters;
  CounterPlan plan;
};
// `output_streams`: those whose outputs are counted.
CounterPlacement place_counters(const AnalyzedModule& analyzed, const SegmentGraph& graph,
                                const BlockCountOptions& options, bool count_subgroups,
                                std::vector<uint32_t> output_streams);

}  // namespace tally::spirv
