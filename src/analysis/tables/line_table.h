// The table of source lines over all shaders. Shaders without debug information are listed by
// instruction.
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// With `merge`, a line that several shaders share is one row.
Result<Table> make_line_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                              const BlockTotals& totals, const TableOptions& options);

}  // namespace tally::analysis
