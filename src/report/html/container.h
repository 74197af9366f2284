// A Dataset as bytes: a JSON head that says where the columns are, then the columns. The format is
// documented in page/src/data.ts.
#pragma once

#include <string_view>

#include "analysis/dataset/dataset.h"
#include "report/output.h"

namespace tally::report {

void write_container(const analysis::Dataset& dataset, std::string_view tool_version,
                     const Output& out);

}  // namespace tally::report
