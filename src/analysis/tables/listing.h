// The full listing of one shader, with counts in the margin.
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

enum class ListingKind {
  Source,  // the embedded source files; the disassembly if there are none
  Disassembly,
};

Result<Table> make_listing(const Model& model, ShaderCodes& codes, const Variants& variants,
                           const BlockTotals& totals, uint32_t variant, ListingKind kind,
                           const TableOptions& options);

}  // namespace tally::analysis
