// Scenarios of the client for how a process ends, and when.
#pragma once

#include "capture/testing/client_kit.h"

namespace tally::test {

// `how` is the client's second argument.
Scenarios ending_scenarios(const std::string& how);
// A child of fork() runs Vulkan too; the parent has not begun, and outlives it.
int forked();

}  // namespace tally::test
