// The header of a report and the summary of `tally run`: what was captured, on which device, and
// what is missing.
#pragma once

#include <string>
#include <vector>

#include "analysis/tables/summary.h"

namespace tally::report {

// The file name, then one fact per line.
std::string capture_header(const analysis::Summary& summary, size_t width);

// "100 frames, 100 passes, 100 draws, 0 dispatches"
std::string amounts(const analysis::Summary& summary);

// "end at submissions"; empty where they end at presents or swaps alone
std::string frames_line(const analysis::Summary& summary);

// "llvmpipe", "llvmpipe (40 devices)", "llvmpipe and 2 more"
std::string device_names(const analysis::Summary& summary);

// "2 shaders counted, 1 not"
std::string shaders_line(const analysis::Summary& summary);

// "scene.frag fragment by less.frag", one for each shader that was replaced.
std::vector<std::string> replaced_lines(const analysis::Summary& summary);
// The same for those that were not, with the reasons.
std::vector<std::string> not_replaced_lines(const analysis::Summary& summary);

// A hint how to get names, if nothing has one; else empty.
std::string names_hint(const analysis::Summary& summary);

// Why shaders were not counted, one line each: at most `max_lines`, and a line with the number of
// further reasons.
std::vector<std::string> uncounted_lines(const analysis::Summary& summary, size_t max_lines);

// The missing parts of the capture, one line each.
std::vector<std::string> missing_lines(const analysis::Summary& summary);

}  // namespace tally::report
