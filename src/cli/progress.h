// A progress line on the terminal. It appears only if standard error is a terminal and the work
// takes a while; it is erased at the end.
#pragma once

#include <chrono>
#include <string>

namespace tally::cli {

class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(double fraction);  // from 0 to 1

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool on_terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace tally::cli
