// The table of source lines, over all shaders; instructions stand in for lines where a shader has
// no debug information.
#pragma once

#include "analysis/block_totals.h"

namespace tally::analysis {

Result<Table> make_line_table(const Model& model, ShaderCodes& codes, const BlockTotals& totals,
                              const TableOptions& options);

}  // namespace tally::analysis
