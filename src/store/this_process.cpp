#include "store/this_process.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "store/clock.h"

namespace tally::store::stream {
namespace {

std::string executable_path() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<size_t>(size)) : std::string{};
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    arguments.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

}  // namespace

Process describe_this_process(std::string application, std::string engine) {
  return {.pid = ::getpid(),
          .parent_pid = ::getppid(),
          .executable = executable_path(),
          .command_line = command_line(),
          .application = std::move(application),
          .engine = std::move(engine),
          .start_ns = monotonic_ns()};
}

}  // namespace tally::store::stream
