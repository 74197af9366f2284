// Scenarios of the client for what ends a frame.
#pragma once

#include "capture/testing/client_kit.h"

namespace tally::test {

const Scenarios& frame_end_scenarios();

}  // namespace tally::test
