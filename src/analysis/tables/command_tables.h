// Tables of commands or groups of commands: draws, passes, pipelines, frames, labels.
#pragma once

#include "analysis/model/model.h"
#include "analysis/model/shader_code.h"
#include "analysis/tables/command_groups.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// The table's rows refer to `model`, which must outlive them.
Result<Table> make_command_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                 GroupBy by, const TableOptions& options, const Progress& progress);

// The table of regions of render passes, hottest first.

// A row for each region with counts in the selected frames' passes, a column for each counter.
// `options.pass` restricts the table to passes with this number in their frame.
Result<Table> make_region_table(const Model& model, const TableOptions& options,
                                const Progress& progress);

}  // namespace tally::analysis
