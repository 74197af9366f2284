// Scenarios of the client whose command buffers are recorded once and submitted in several frames.
// They check what the GPU computes in each frame, and fail if it is wrong. Nothing is presented, so
// each submission is a frame.
#pragma once

#include "capture/testing/client_kit.h"

namespace tally::test {

const Scenarios& kept_scenarios();

}  // namespace tally::test
