// Stacks of one metric: collapsed stacks for flame graph tools, and the JSON of speedscope.
#pragma once

#include <string>

#include "report/export/call_tree.h"
#include "report/table/output.h"

namespace tally::report {

// One line for each stack: its frames, separated by semicolons, and the value. In names, semicolons
// become colons.
void write_collapsed(const CallTree& tree, uint32_t metric, const Output& out);

// A file of type "sampled" (https://www.speedscope.app/file-format-schema.json). `name` is its
// title.
void write_speedscope(const CallTree& tree, uint32_t metric, const std::string& name,
                      const std::string& exporter, const Output& out);

}  // namespace tally::report
