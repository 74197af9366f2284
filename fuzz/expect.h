// A claim that must hold for every input. If it does not, it is printed and the process aborts,
// which the fuzzer reports.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace tally::fuzz {

[[noreturn]] inline void report_broken(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
  std::abort();
}

}  // namespace tally::fuzz

#define TALLY_FUZZ_EXPECT(condition) \
  ((condition) ? void() : ::tally::fuzz::report_broken(#condition, __FILE__, __LINE__))
