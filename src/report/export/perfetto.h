// A trace for Perfetto: render stages at their GPU times, frames, and counters by pass. Protocol
// buffers (https://perfetto.dev/docs/reference/trace-packet-proto).
#pragma once

#include "analysis/model/model.h"
#include "base/status.h"
#include "report/table/output.h"

namespace tally::report {

// An error if nothing in the capture has a GPU time with a begin.
Status write_perfetto(const analysis::Model& model, const analysis::Progress& progress,
                      const Output& out);

}  // namespace tally::report
