#include "cli/captured_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "store/unique_fd.h"

namespace tally::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxBytes = size_t{16} << 20;

struct Pipe {
  std::array<int, 2> ends{-1, -1};

  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_end(size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

// Returns false at the end of the stream.
bool read_some(int file, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t got = read(file, buffer.data(), buffer.size());
  if (got <= 0) return false;
  if (text.size() < kMaxBytes) text.append(buffer.data(), static_cast<size_t>(got));
  return true;
}

// Reads both streams until both end. Returns false if the time limit expires first.
bool read_both(Pipe& out, Pipe& err, CapturedRun& run, Clock::time_point end) {
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    std::array<pollfd, 2> files = {pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0 || poll(files.data(), files.size(), static_cast<int>(left)) == 0) return false;
    if (files[0].revents != 0 && !read_some(out.ends[0], run.standard_output)) out.close_end(0);
    if (files[1].revents != 0 && !read_some(err.ends[0], run.standard_error)) err.close_end(0);
  }
  return true;
}

}  // namespace

Result<CapturedRun> run_captured(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 std::chrono::seconds limit) {
  Pipe out, err;
  pid_t pid = -1;
  const store::UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Spawn streams{.streams = {nothing.get(), out.ends[1], err.ends[1]}};
  if (const int error = spawn_program(&pid, arguments, environment, streams); error != 0) {
    return Error{fmt::format("cannot run '{}': {}", arguments[0], std::strerror(error))};
  }
  out.close_end(1);
  err.close_end(1);
  CapturedRun run;
  if (!read_both(out, err, run, Clock::now() + limit)) {
    run.timed_out = true;
    kill(pid, SIGKILL);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  run.end.by_signal = WIFSIGNALED(status);
  run.end.number = run.end.by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  return run;
}

}  // namespace tally::cli
