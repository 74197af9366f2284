#include "platform/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

extern char** environ;

namespace tally::platform {
namespace {

constexpr int kSynchronousSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

// The arguments of main(), which may change the array.
int g_given_count = 0;
char* const* g_arguments = nullptr;

// The C library passes these to the constructors of libraries too.
[[gnu::constructor]] void keep_arguments(int count, char** arguments) {
  g_given_count = count;
  g_arguments = arguments;
}

size_t argument_count() {
  int count = 0;
  while (count < g_given_count && g_arguments[count] != nullptr) ++count;
  return static_cast<size_t>(count);
}

}  // namespace

pid_t parent_process() { return ::getppid(); }

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
  // Wine removes its own name from the array, moves the program's arguments to the front of this
  // text and zeroes the rest, which then looks like many empty arguments.
  if (arguments.size() <= static_cast<size_t>(g_given_count)) return arguments;
  const size_t count = argument_count();
  while (arguments.size() > count && arguments.back().empty()) arguments.pop_back();
  return arguments;
}

const char* trusted_variable(const char* name) { return ::secure_getenv(name); }

std::vector<std::string> variables() {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    all.emplace_back(*entry);
  return all;
}

char list_separator() { return ':'; }

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

std::optional<size_t> terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

QuietScope::QuietScope(Synchronous synchronous) {
  static_assert(sizeof before_ >= sizeof(sigset_t));
  sigset_t blocked, before;
  ::sigfillset(&blocked);
  for (const int signal : kSynchronousSignals) ::sigdelset(&blocked, signal);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  std::memcpy(before_.bytes, &before, sizeof before);
  if (synchronous == Synchronous::AsTheyAre) return;
  sigset_t unblocked;
  ::sigemptyset(&unblocked);
  for (const int signal : kSynchronousSignals) ::sigaddset(&unblocked, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
}

QuietScope::~QuietScope() {
  sigset_t before;
  std::memcpy(&before, before_.bytes, sizeof before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void before_exit(void (*function)(), bool also_quickly) {
  std::atexit(function);
  if (also_quickly) std::at_quick_exit(function);
}

void stay_loaded() {}

}  // namespace tally::platform
