// The table of basic blocks.
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

Result<Table> make_block_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                               const BlockTotals& totals, const TableOptions& options);

}  // namespace tally::analysis
