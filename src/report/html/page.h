// The HTML report: one file with script, style and data, which loads nothing and runs nothing else.
// Text of applications is only in the data, which is compressed and in base64: never markup.
#pragma once

#include <string_view>

#include "analysis/dataset/dataset.h"
#include "base/status.h"
#include "report/output.h"

namespace tally::report {

// Why this build of Tally cannot write HTML; empty: it can.
std::string_view why_no_html();

Status write_html(const analysis::Dataset& dataset, std::string_view tool_version,
                  const Output& out);

}  // namespace tally::report
