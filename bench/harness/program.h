// Common start and end of the benchmark programs.
#pragma once

#include <exception>
#include <functional>

#include "harness/gpu.h"

namespace tally::bench {

// Runs `body`; an exception prints one line on stderr and gives exit status 1. Points the loader at
// the layers of the build: <folder of the program>/../lib. Freed memory stays with the process:
// whether the C library returns a software driver's memory to the kernel each frame depends on the
// layout of the heap, and returning it costs as much as counting does.
int run_program(const std::function<void()>& body);

// For the handler of a program's main: prints one line on stderr, and returns the exit status 1.
int fail(const std::exception& error);

// Prints one line: device, driver, subgroup size.
void print_device(const Capabilities& capabilities);

}  // namespace tally::bench
