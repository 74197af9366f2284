// Scenarios of the client for what is captured by region.
#pragma once

#include "capture/testing/client_kit.h"

namespace tally::test {

const Scenarios& region_scenarios();

}  // namespace tally::test
