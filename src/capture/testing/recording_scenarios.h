// Scenarios of the client for what is recorded, and how it is submitted.
#pragma once

#include "capture/testing/client_kit.h"

namespace tally::test {

const Scenarios& recording_scenarios();

}  // namespace tally::test
