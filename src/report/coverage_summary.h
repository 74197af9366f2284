// Coverage as text: the files, and the shaders that add nothing to it.
#pragma once

#include "analysis/coverage/coverage.h"
#include "report/output.h"

namespace tally::report {

void write_coverage_summary(const analysis::Coverage& coverage, size_t width, const Output& out);

}  // namespace tally::report
