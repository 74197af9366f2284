// Runs work in a process of its own, for libraries that input may crash or hang.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace tally::platform {

struct IsolationLimits {
  unsigned seconds = 10;             // of wall time
  size_t memory = size_t{1} << 30;   // bytes beyond those that this process has
  size_t output = size_t{16} << 20;  // bytes of the result
};

// A function that may run in a process of its own. All such objects are global: where the system
// cannot copy a process, another one of this program finds the function by its name.
class IsolatedWork {
 public:
  using Function = Result<std::string>(const std::string& request);
  IsolatedWork(const char* name, Function* function) noexcept;
  IsolatedWork(const IsolatedWork&) = delete;
  IsolatedWork& operator=(const IsolatedWork&) = delete;

  const char* name() const { return name_; }
  Result<std::string> operator()(const std::string& request) const { return function_(request); }

 private:
  const char* name_;
  Function* function_;
};

// The result of `work` for `request`. The process has no output of its own. An error says how it
// ended if the work did not return.
Result<std::string> run_isolated(const IsolatedWork& work, const std::string& request,
                                 const IsolationLimits& limits = {});

}  // namespace tally::platform
