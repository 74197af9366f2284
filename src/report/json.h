// Reports as JSON for scripts. docs/reference/report-json.md documents what is made here;
// kJsonVersion rises when something that a script may rely on changes. Numbers are exact and in the
// base unit of their column.
#pragma once

#include <string>
#include <vector>

#include "analysis/cost/region_map.h"
#include "analysis/tables/summary.h"
#include "analysis/tables/table.h"
#include "report/output.h"

namespace tally::report {

inline constexpr int kJsonVersion = 2;

// Row by row: however many there are, only one is in memory.
void write_json(const analysis::Summary& summary, const std::vector<analysis::Table>& tables,
                const Output& out);
// A heatmap that was written to `file`.
void write_json(const analysis::Summary& summary, const analysis::RegionMap& map,
                const std::string& file, const Output& out);

}  // namespace tally::report
