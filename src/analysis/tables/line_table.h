// The table of source lines, over all shaders; instructions stand in for lines where a shader has
// no debug information.
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// With `merge`, a line that several shaders have is one row.
Result<Table> make_line_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                              const BlockTotals& totals, const TableOptions& options);

}  // namespace tally::analysis
