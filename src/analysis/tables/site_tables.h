// Tables of what was counted at sites (spirv/analysis/sites.h).
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/model/shader_code.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// A row for each loop that ran: tally run --loops.
Result<Table> make_loop_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                              const Variants& variants, const TableOptions& options,
                              const Progress& progress);

// A row for each line that had values of a kind that is seldom wanted: tally run --values.
Result<Table> make_value_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const BlockTotals& totals,
                               const TableOptions& options, const Progress& progress);

// A row for each function and loop that was timed: tally run --clocks.
Result<Table> make_clock_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const BlockTotals& totals,
                               const TableOptions& options, const Progress& progress);
// A row for each kind of access of a line to a resource: tally run --memory.
Result<Table> make_memory_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                                const Variants& variants, const BlockTotals& totals,
                                const TableOptions& options, const Progress& progress);

}  // namespace tally::analysis
