// One shader from its first line to its last, with counts at the margin.
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

enum class ListingKind {
  Source,  // the source files that the debug information carries; disassembly where it carries none
  Disassembly,
};

Result<Table> make_listing(const Model& model, ShaderCodes& codes, const Variants& variants,
                           const BlockTotals& totals, uint32_t variant, ListingKind kind,
                           const TableOptions& options);

}  // namespace tally::analysis
