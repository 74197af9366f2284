// Tables of commands or groups of commands: draws, passes, pipelines, frames, labels.
#pragma once

#include "analysis/model/shader_code.h"
#include "analysis/tables/command_groups.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// The table's rows refer to `model`, which must outlive them.
Result<Table> make_command_table(const Model& model, ShaderCodes& codes, GroupBy by,
                                 const TableOptions& options, const Progress& progress);

}  // namespace tally::analysis
