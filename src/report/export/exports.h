// A capture in the formats of other tools.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/model/model.h"
#include "base/status.h"
#include "report/export/call_tree.h"
#include "report/table/output.h"

namespace tally::report {

// A profile in the format of callgrind, which KCachegrind and callgrind_annotate read. Every metric
// that is not 0 everywhere is an event, the default metric first.
void write_callgrind(const CallTree& tree, const std::string& creator, const Output& out);

// Stacks of one metric for flame graph tools. One line for each stack: its frames, separated by
// semicolons, and the value. In names, semicolons become colons.
void write_collapsed(const CallTree& tree, uint32_t metric, const Output& out);

// The same for speedscope: a file of type "sampled"
// (https://www.speedscope.app/file-format-schema.json). `name` is its title.
void write_speedscope(const CallTree& tree, uint32_t metric, const std::string& name,
                      const std::string& exporter, const Output& out);

// A profile for pprof: a gzipped protocol buffer
// (https://github.com/google/pprof/blob/main/proto/profile.proto). Every metric that is not 0
// everywhere is a sample type. Values above INT64_MAX, the format's limit, become INT64_MAX.
Status write_pprof(const CallTree& tree, const Output& out);

// A trace for Perfetto: render stages at their GPU times, frames, and counters by pass. Protocol
// buffers (https://perfetto.dev/docs/reference/trace-packet-proto). An error if nothing in the
// capture has a GPU time with a begin.
Status write_perfetto(const analysis::Model& model, const analysis::Progress& progress,
                      const Output& out);

}  // namespace tally::report
