// Scenarios of the client in which command buffers are recorded and submitted in different frames.
// Nothing is presented, so each submission is a frame. In frame n, a dispatch has n + 1 groups
// where the command buffer is recorded for the frame, else 100.
#pragma once

#include "capture/testing/client_kit.h"

namespace tally::test {

const Scenarios& frame_scenarios();

}  // namespace tally::test
