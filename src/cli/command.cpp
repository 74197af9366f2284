#include "cli/command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "report/table/display_text.h"

namespace tally::cli {

// A message that nobody can read is no reason to fail.
void say(const std::string& text) {
  const std::string line = fmt::format("tally: {}\n", report::printable(text));
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

int fail(const Error& error) {
  say(error.message);
  return kFailed;
}

int print(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return kDone;
  return fail({fmt::format("cannot write to standard output: {}", std::strerror(errno))});
}

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
