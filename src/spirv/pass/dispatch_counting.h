// Counts the invocations of a whole dispatch at once: its first invocation adds the workgroups,
// which it can read, times the size of one. So a dispatch is right whose arguments stand in a
// buffer, and every resubmission. Only where workgroups are numbered from 0.
#pragma once

#include "spirv/pass/counting.h"

namespace tally::spirv {

bool counts_dispatches(const BlockCountOptions& options);

// `void count_dispatch()`, to be called once in every invocation: gives its id.
uint32_t make_dispatch_function(CountingTools& tools, uint32_t counter);

}  // namespace tally::spirv
