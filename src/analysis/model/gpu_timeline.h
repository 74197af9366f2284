// The timeline of the GPU: passes, and commands outside of passes, by the device's clock.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

struct GpuSpan {
  int64_t begin_ns;
  int64_t end_ns;
  uint32_t frame;    // index into Model::frames
  uint32_t pass;     // index into Model::passes, or kNone
  uint32_t command;  // outside of passes: index into Model::commands; else kNone
};

// Ordered by begin; spans that begin together, the longer first. Those without a begin or a time
// are left out.
Result<std::vector<GpuSpan>> gpu_timeline(const Model& model);

}  // namespace tally::analysis
