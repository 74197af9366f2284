// Scenarios of the client for extensions.
#pragma once

#include "capture/testing/client_kit.h"

namespace tally::test {

const Scenarios& extension_scenarios();

}  // namespace tally::test
