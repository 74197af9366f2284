// What every benchmark program begins and ends with.
#pragma once

#include <functional>

#include "harness/gpu.h"

namespace tally::bench {

// Runs `body`; an exception becomes a line on stderr and exit status 1. The loader finds the layers
// of the build: <folder of the program>/../lib. The process keeps the memory that it frees: whether
// the C library gives a software driver's back to the kernel in each frame depends on what chances
// to lie above it in the heap, and it then costs as much as counting does.
int run_program(const std::function<void()>& body);

// One line: device, driver, subgroup size.
void print_device(const Capabilities& capabilities);

}  // namespace tally::bench
