// The functions behind the layer's exported symbol (base/live_counters.h).
#pragma once

#include <cstdint>

#include "base/live_counters.h"

namespace tally::capture {

// Returns null for an unknown version.
const TallyLiveCounters* live_counters(uint32_t version);

}  // namespace tally::capture
