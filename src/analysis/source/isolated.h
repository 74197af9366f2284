// Runs work in a process of its own, for libraries that input may crash or hang.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/status.h"

namespace tally::analysis {

struct IsolationLimits {
  unsigned seconds = 10;             // of wall time
  size_t memory = size_t{1} << 30;   // bytes beyond those that this process has
  size_t output = size_t{16} << 20;  // bytes of the result
};

// The result of `work`, which runs in a child process without output of its own. An error says how
// the child ended if it did not return.
Result<std::string> run_isolated(const std::function<Result<std::string>()>& work,
                                 const IsolationLimits& limits = {});

}  // namespace tally::analysis
