// Coverage in the formats that other tools read.
#pragma once

#include <string>
#include <vector>

#include "analysis/coverage/coverage.h"
#include "report/table/output.h"

namespace tally::report {

// The path of a file in the output; a name that a shader recorded may hold anything.
struct CoveragePaths {
  std::vector<std::string> paths;  // by file of the coverage
};

// The names that the shaders recorded, on one line each.
CoveragePaths recorded_paths(const analysis::Coverage& coverage);

// A tracefile of lcov (geninfo(1)), for lcov 1.16 and 2.
std::string lcov_tracefile(const analysis::Coverage& coverage, const CoveragePaths& paths);

// Cobertura's XML, by its DTD coverage-04.
std::string cobertura_xml(const analysis::Coverage& coverage, const CoveragePaths& paths,
                          const std::string& tool_version);

// Coverage as text: the files, and the shaders that add nothing to it.

// A sentence about lines with code that are in no file; empty if there are none.
std::string lines_left_out(const analysis::Coverage& coverage);

void write_coverage_summary(const analysis::Coverage& coverage, size_t width, const Output& out);

}  // namespace tally::report
