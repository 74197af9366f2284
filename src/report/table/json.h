// Reports as JSON for scripts. docs/reference/report-json.md documents what is made here;
// kJsonVersion rises when something that a script may rely on changes. Numbers are exact and in the
// base unit of their column.
#pragma once

#include <string>
#include <vector>

#include "analysis/model/counts.h"
#include "analysis/tables/summary.h"
#include "analysis/tables/table.h"
#include "report/table/output.h"

namespace tally::report {

inline constexpr int kJsonVersion = 5;

// Writes row by row; only one row is in memory at a time.
void write_json(const analysis::Summary& summary, const std::vector<analysis::Table>& tables,
                const Output& out);
// The member `capture` alone, on one line.
std::string capture_json_text(const analysis::Summary& summary);
// A member of `tables` alone.
std::string table_json_text(const analysis::Table& table);
// Describes a heatmap that was written to `file`.
void write_json(const analysis::Summary& summary, const analysis::RegionMap& map,
                const std::string& file, const Output& out);

}  // namespace tally::report
