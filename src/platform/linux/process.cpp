#include "platform/process.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

extern char** environ;

namespace tally::platform {

const char* trusted_variable(const char* name) { return ::secure_getenv(name); }

std::vector<std::string> variables() {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    all.emplace_back(*entry);
  return all;
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

std::optional<size_t> terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace tally::platform
