// The tables that reports are made of, one function each. Their cells may refer to the model and to
// what else they are made from, which must outlive them.
#pragma once

#include "analysis/cost/block_totals.h"
#include "analysis/model/model.h"
#include "analysis/model/shader_code.h"
#include "analysis/predict/prediction.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/command_groups.h"
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

// The full listing of one shader, with counts in the margin. Where branches are counted, a row for
// each of their targets follows the line, or the instruction, of the branch.
Result<Table> make_listing(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                           const Variants& variants, const BlockTotals& totals,
                           const BranchTotals& branches, uint32_t variant, ListingKind kind,
                           const TableOptions& options);

// Commands or groups of commands: draws, passes, pipelines, frames, labels. With their predicted
// times if `prediction` is not null.
Result<Table> make_command_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                 const Prediction* prediction, GroupBy by,
                                 const TableOptions& options, const Progress& progress);

// The predicted times of a capture: of its dispatches and passes, and of its lines, the
// longest first. `top`: rows to keep; 0: all.
Table make_prediction_table(const Prediction& prediction, size_t top);
Table make_predicted_line_table(const Prediction& prediction, size_t top);
// Times of `after` as parts of those of `before`, for works that both have.
Table make_ratio_table(const Prediction& before, const Prediction& after);

// Regions of render passes, hottest first: a row for each region with counts in the selected
// frames' passes, a column for each counter. `options.pass` restricts the table to passes with this
// number in their frame.
Result<Table> make_region_table(const Model& model, bool by_draw, const TableOptions& options,
                                const Progress& progress);

// A row for each function: its cost by itself and with the functions that it calls. Functions that
// were inlined count like those that are called. With `merge`, a function that several shaders
// share is one row.
Result<Table> make_function_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                  const BlockTotals& totals, const TableOptions& options);

// A row for each function below each path of calls: callers before what they call, siblings by
// their cost with callees. `options.depth` limits the calls below the entry point, `options.top`
// keeps the rows with the largest cost with callees.
Result<Table> make_call_tree_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                   const BlockTotals& totals, const TableOptions& options);

// The counts of sites (spirv/analysis/sites.h). A row for each loop that ran: tally run
// --loops.
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
