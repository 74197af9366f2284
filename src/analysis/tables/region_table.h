// The table of regions of render passes, hottest first.
#pragma once

#include "analysis/model/model.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// A row for each region with counts in the selected frames' passes, a column for each counter.
// `options.pass` restricts the table to passes with this number in their frame.
Result<Table> make_region_table(const Model& model, const TableOptions& options,
                                const Progress& progress);

}  // namespace tally::analysis
