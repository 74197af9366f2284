#include "platform/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

extern char** environ;

namespace tally::platform {
namespace {

constexpr int kSynchronousSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

}  // namespace

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

void before_exit(void (*function)()) { std::atexit(function); }

void stay_loaded() {}

}  // namespace tally::platform
