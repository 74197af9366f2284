// A profile for pprof: a gzipped protocol buffer
// (https://github.com/google/pprof/blob/main/proto/profile.proto).
#pragma once

#include "base/status.h"
#include "report/export/call_tree.h"
#include "report/table/output.h"

namespace tally::report {

// Every metric that is not 0 everywhere is a sample type. Values above INT64_MAX, the format's
// limit, become INT64_MAX.
Status write_pprof(const CallTree& tree, const Output& out);

}  // namespace tally::report
