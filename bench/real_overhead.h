// The device cost of counting blocks in the real set (real_kernels.h).
#pragma once

#include <string>

namespace tally::bench {

struct RealSetOptions {
  int rounds = 7;
  double target_ms = 20;
  std::string only;        // only kernels whose name contains this
  bool subgroups = false;  // also count the subgroups that execute each block
  bool run = false;        // only run each plain kernel, a unit a submission, for others to measure
};

void measure_real_set(const RealSetOptions& options);

}  // namespace tally::bench
