// The first lines of a report, and the last of `tally run`: what was captured, on what, and what
// was not.
#pragma once

#include <string>
#include <vector>

#include "analysis/tables/summary.h"

namespace tally::report {

// "vkcube.tally: vkcube --c 100", then the facts, one a line.
std::string capture_header(const analysis::Summary& summary, size_t width);

// "100 frames, 100 passes, 100 draws, 0 dispatches"
std::string amounts(const analysis::Summary& summary);

// "2 shaders counted, 1 not"
std::string shaders_line(const analysis::Summary& summary);

// Why shaders were not counted, one line each, at most `most` and one that says how many more there
// are.
std::vector<std::string> uncounted_lines(const analysis::Summary& summary, size_t max_lines);

// What of the capture is missing, one line each.
std::vector<std::string> missing_lines(const analysis::Summary& summary);

}  // namespace tally::report
