// Coverage in the formats that other tools read.
#pragma once

#include <string>
#include <vector>

#include "analysis/coverage/coverage.h"

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

}  // namespace tally::report
