#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/model/shader_code.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

Result<Table> make_shader_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                const TableOptions& options, const Progress& progress);

Result<Table> make_block_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const BlockTotals& totals,
                               const TableOptions& options);

// A row for each executable of a pipeline, with the statistics of the driver's compiler.
Result<Table> make_executable_table(const Model& model, const TableOptions& options);

// The table of source lines over all shaders. Shaders without lines are listed by instruction.
// With `merge`, a line that several shaders share is one row.
Result<Table> make_line_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                              const Variants& variants, const BlockTotals& totals,
                              const BranchTotals& branches, const TableOptions& options);

}  // namespace tally::analysis
