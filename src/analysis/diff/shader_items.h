// The functions and lines of the shaders of a profile.
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/diff/profile.h"
#include "analysis/source/shader_source.h"

namespace tally::analysis {

// Adds the code of a shader, with the counts of all its variants, to `item`. An item may stand
// for several shaders of equal code; their counts add up.
void add_code(ShaderItem& item, uint32_t shader, ShaderCodes& codes, ShaderSources& sources,
              const Variants& variants, const BlockTotals& totals,
              const std::vector<Metric>& metrics);

}  // namespace tally::analysis
