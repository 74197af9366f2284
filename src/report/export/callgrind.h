// A profile in the format of callgrind, which KCachegrind and callgrind_annotate read.
#pragma once

#include <string>

#include "report/export/call_tree.h"
#include "report/table/output.h"

namespace tally::report {

// Every metric that is not 0 everywhere is an event, the default metric first.
void write_callgrind(const CallTree& tree, const std::string& creator, const Output& out);

}  // namespace tally::report
