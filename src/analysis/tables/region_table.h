// What render passes did by region: the regions as rows, the hottest first.
#pragma once

#include "analysis/model/model.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// A row for each region of the selected frames' passes in which anything was counted, a column for
// each counter. `options.pass`: only the passes of this number in their frames.
Result<Table> make_region_table(const Model& model, const TableOptions& options,
                                const Progress& progress);

}  // namespace tally::analysis
