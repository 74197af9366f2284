#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

Result<Table> make_block_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const BlockTotals& totals,
                               const TableOptions& options);

}  // namespace tally::analysis
