// The full listing of one shader, with counts in the margin.
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

enum class ListingKind {
  Source,  // the lines of its ShaderSource; the disassembly if it has none
  Disassembly,
};

Result<Table> make_listing(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                           const Variants& variants, const BlockTotals& totals, uint32_t variant,
                           ListingKind kind, const TableOptions& options);

}  // namespace tally::analysis
