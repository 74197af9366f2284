#include "platform/isolation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <string_view>

namespace tally::platform {
namespace {

// The first byte of what the child sends.
constexpr char kResult = 'r', kError = 'e';

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitMemory = false;  // a sanitizer reserves far more than it uses
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kLimitMemory = false;
#else
constexpr bool kLimitMemory = true;
#endif
#else
constexpr bool kLimitMemory = true;
#endif

size_t memory_of_this_process() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void set_limit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

void restrict_this_process(const IsolationLimits& limits) {
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, limits.seconds);
  if (kLimitMemory) set_limit(RLIMIT_AS, memory_of_this_process() + limits.memory);
  for (const int number : {SIGALRM, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPIPE})
    ::signal(number, SIG_DFL);
  ::alarm(limits.seconds);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, file);
}

void send(int pipe, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(pipe, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

[[noreturn]] void run_child(const IsolatedWork& work, const std::string& request,
                            const IsolationLimits& limits, int pipe) {
  restrict_this_process(limits);
  std::string answer;
  try {
    const Result<std::string> result = work(request);
    answer = result ? kResult + *result : kError + result.error().message;
  } catch (const std::exception& error) {
    answer = kError + std::string(error.what());
  } catch (...) {
    answer = kError + std::string("an unknown exception");
  }
  send(pipe, answer);
  ::_exit(0);
}

// Reads to the end, or to one byte more than `limit`.
std::string receive(int pipe, size_t limit) {
  std::string received;
  std::array<char, 65536> buffer;
  while (received.size() <= limit) {
    const ssize_t size = ::read(pipe, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    received.append(buffer.data(), static_cast<size_t>(size));
  }
  return received;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Error how_it_ended(int status, const IsolationLimits& limits) {
  if (!WIFSIGNALED(status)) return Error{"it ended without a result"};
  const int number = WTERMSIG(status);
  if (number == SIGALRM || number == SIGXCPU || number == SIGKILL)
    return Error{fmt::format("it took more than {} s", limits.seconds)};
  return Error{fmt::format("it crashed with signal {}", number)};
}

}  // namespace

IsolatedWork::IsolatedWork(const char* name, Function* function) noexcept
    : name_(name), function_(function) {}

Result<std::string> run_isolated(const IsolatedWork& work, const std::string& request,
                                 const IsolationLimits& limits) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{fmt::format("cannot make a pipe: {}", std::strerror(errno))};
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    run_child(work, request, limits, ends[1]);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return Error{fmt::format("cannot start a process: {}", std::strerror(errno))};
  }
  std::string received = receive(ends[0], limits.output);
  ::close(ends[0]);
  if (received.size() > limits.output) ::kill(child, SIGKILL);
  const int status = wait_for(child);
  if (received.size() > limits.output) return Error{"its result is too large"};
  if (received.empty() || !WIFEXITED(status)) return how_it_ended(status, limits);
  const char kind = received.front();
  received.erase(0, 1);
  if (kind != kResult) return Error{received};
  return received;
}

}  // namespace tally::platform
