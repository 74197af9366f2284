// The application of `tally top -- APPLICATION`, below a `tally run` of its own that captures a
// frame whenever it is asked to. Both run in a session of their own: nothing that happens to the
// terminal reaches them, and they go on when `tally top` ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace tally::cli {

class TopApplication {
 public:
  // `options` of `tally run` precede the application. Its output goes to the new file `log`.
  static Result<TopApplication> start(const std::vector<std::string>& options,
                                      const std::vector<std::string>& application,
                                      const std::string& capture, const std::string& log);

  pid_t run() const { return run_; }
  // The exit status of `tally run`, once it has ended.
  std::optional<int> ended();

 private:
  explicit TopApplication(pid_t run) : run_(run) {}

  pid_t run_;
  std::optional<int> status_;
};

}  // namespace tally::cli
