// The tables of functions: what each costs by itself and with the functions that it calls, and the
// tree of calls of each shader. Functions that were inlined count like those that are called.
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/model/shader_code.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// With `merge`, a function that several shaders share is one row.
Result<Table> make_function_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                  const BlockTotals& totals, const TableOptions& options);

// A row for each function below each path of calls: callers before what they call, siblings by
// their cost with callees. `options.depth` limits the calls below the entry point, `options.top`
// keeps the rows with the largest cost with callees.
Result<Table> make_call_tree_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                   const BlockTotals& totals, const TableOptions& options);

}  // namespace tally::analysis
