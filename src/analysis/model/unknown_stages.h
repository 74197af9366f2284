// Counts of stages that belong to no shader of the capture: of pipelines that it does not know.
#pragma once

#include <cstdint>

#include "analysis/model/model.h"

namespace tally::analysis {

// How many stages of the selected commands have counts, but no shader.
Result<uint64_t> count_unknown_stages(const Model& model);

}  // namespace tally::analysis
