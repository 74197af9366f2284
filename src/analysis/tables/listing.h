// The full listing of one shader, with counts in the margin. Where branches are counted, a row for
// each of their targets follows the line, or the instruction, of the branch.
#pragma once

#include "analysis/cost/branch_totals.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

enum class ListingKind {
  Source,  // the lines of its ShaderSource; the disassembly if it has none
  Disassembly,
};

Result<Table> make_listing(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                           const Variants& variants, const BlockTotals& totals,
                           const BranchTotals& branches, uint32_t variant, ListingKind kind,
                           const TableOptions& options);

}  // namespace tally::analysis
