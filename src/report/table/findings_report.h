// Findings as text and as JSON (docs/user/explain.md).
#pragma once

#include <cstddef>
#include <string>

#include "analysis/findings/findings.h"
#include "analysis/tables/summary.h"
#include "report/table/output.h"

namespace tally::report {

inline constexpr int kFindingsJsonVersion = 1;

void write_findings(const analysis::Findings& findings, size_t width, const Output& out);
// A list of JSON objects, on one line.
std::string findings_json_text(const analysis::Findings& findings);
void write_findings_json(const analysis::Summary& summary, const analysis::Findings& findings,
                         const Output& out);

}  // namespace tally::report
