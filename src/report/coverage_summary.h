// Coverage as text: the files, and the shaders that add nothing to it.
#pragma once

#include <string>

#include "analysis/coverage/coverage.h"
#include "report/output.h"

namespace tally::report {

// A sentence about lines with code that are in no file; empty if there are none.
std::string lines_left_out(const analysis::Coverage& coverage);

void write_coverage_summary(const analysis::Coverage& coverage, size_t width, const Output& out);

}  // namespace tally::report
