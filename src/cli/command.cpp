#include "cli/command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "report/display_text.h"

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

}  // namespace tally::cli
