// Reports as JSON for scripts. docs/report-json.md documents what is made here; kJsonVersion rises
// when something that a script may rely on changes. Numbers are exact and in the base unit of their
// column.
#pragma once

#include <string>
#include <vector>

#include "analysis/summary.h"
#include "analysis/table.h"

namespace tally::report {

inline constexpr int kJsonVersion = 1;

std::string report_json(const analysis::Summary& summary,
                        const std::vector<analysis::Table>& tables);

}  // namespace tally::report
