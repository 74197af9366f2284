#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace tally::cli {

using namespace std::chrono_literals;

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)),
      on_terminal_(isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + 500ms) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::update(double fraction) {
  if (!on_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + 100ms;
  shown_ = true;
  std::fputs(fmt::format("\r\033[K{} {:3.0f}%", what_, 100 * fraction).c_str(), stderr);
}

}  // namespace tally::cli
