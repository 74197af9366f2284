// What every benchmark program begins and ends with.
#pragma once

#include <functional>

#include "harness/gpu.h"

namespace tally::bench {

// Runs `body`; an exception becomes a line on stderr and exit status 1. The loader finds the layers
// of the build: <folder of the program>/../lib.
int run_program(const std::function<void()>& body);

// One line: device, driver, subgroup size.
void print_device(const Capabilities& capabilities);

}  // namespace tally::bench
