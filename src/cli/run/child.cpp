#include "cli/run/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/file.h"
#include "cli/run/environment.h"

namespace tally::cli {
namespace {

// SIGCHLD wakes us; the others are forwarded. A terminal sends SIGINT, SIGQUIT, SIGTSTP and
// SIGWINCH to the whole foreground process group, so the program already received those; see
// sent_by_process.
constexpr int kForwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
                              SIGCONT, SIGTSTP, SIGWINCH, SIGTTIN, SIGTTOU, SIGCHLD};

sigset_t forwarded_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

sigset_t& original_mask() {
  static sigset_t mask = [] {
    sigset_t current;
    pthread_sigmask(SIG_SETMASK, nullptr, &current);
    return current;
  }();
  return mask;
}

// The dispositions that this process was given, of the signals for which it has others.
std::array<std::optional<struct sigaction>, NSIG>& given_dispositions() {
  static std::array<std::optional<struct sigaction>, NSIG> given;
  return given;
}

bool sent_by_process(const siginfo_t& info) { return info.si_code <= 0; }

// In the child of fork(): calls nothing but what a signal handler may call, and execvpe().
[[noreturn]] void execute(char* const* arguments, char* const* environment, const Spawn& how,
                          int failed) {
  if (how.new_session) ::setsid();
  for (int stream = 0; stream < static_cast<int>(how.streams.size()); ++stream) {
    if (how.streams[stream] >= 0) ::dup2(how.streams[stream], stream);
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    if (const auto& given = given_dispositions()[signal]) ::sigaction(signal, &*given, nullptr);
  }
  ::pthread_sigmask(SIG_SETMASK, &original_mask(), nullptr);
  ::execvpe(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t sent = ::write(failed, &error, sizeof error);
  ::_exit(127);
}

// Stops this process because the program has stopped. When we are continued, the program is
// continued, too.
void follow_stop(pid_t pid) {
  raise(SIGSTOP);
  kill(pid, SIGCONT);
}

}  // namespace

void prepare_process() {
  original_mask();
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/", O_PATH | O_CLOEXEC);  // the lowest free number
  }
  set_disposition(SIGXFSZ, SIG_IGN);
}

void set_disposition(int signal, void (*handler)(int)) {
  struct sigaction action {
  }, given{};
  action.sa_handler = handler;
  if (::sigaction(signal, &action, &given) != 0) return;
  auto& kept = given_dispositions().at(static_cast<size_t>(signal));
  if (!kept) kept = given;
}

int spawn_program(pid_t* pid, const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment, const Spawn& how) {
  original_mask();
  const std::vector<char*> words = c_strings(arguments), variables = c_strings(environment);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
  UniqueFd succeeded(ends[0]), failed(ends[1]);
  // posix_spawn() cannot give a program an ignored signal that we do not ignore.
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) execute(words.data(), variables.data(), how, failed.get());
  failed = {};
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(succeeded.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  *pid = child;
  if (got != sizeof error) return 0;
  ::waitpid(child, nullptr, 0);
  return error;
}

void block_forwarded_signals() {
  original_mask();
  // Our parent may have set SIGCHLD to be ignored; then we would never learn that the program
  // ended.
  set_disposition(SIGCHLD, SIG_DFL);
  const sigset_t set = forwarded_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Result<Child> Child::start(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, int* exec_status) {
  block_forwarded_signals();
  pid_t pid = -1;
  const int error = spawn_program(&pid, arguments, environment);
  if (error != 0) {
    *exec_status = error == ENOENT ? 127 : 126;
    return Error{fmt::format("cannot run '{}': {}", arguments[0], std::strerror(error))};
  }
  return Child(pid);
}

bool Child::reap(ChildEnd* end) {
  int status = 0;
  while (true) {
    const pid_t got = waitpid(pid_, &status, WNOHANG | WUNTRACED);
    if (got != pid_) return false;
    if (!WIFSTOPPED(status)) break;
    follow_stop(pid_);
  }
  end->by_signal = WIFSIGNALED(status);
  end->number = end->by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  end->core_dumped = end->by_signal && WCOREDUMP(status);
  return true;
}

ChildEnd Child::wait(const std::function<bool(int signal)>& keep) {
  const sigset_t set = forwarded_set();
  ChildEnd end;
  while (!reap(&end)) {
    siginfo_t info;
    const int signal = sigwaitinfo(&set, &info);
    if (signal <= 0 || signal == SIGCHLD || !sent_by_process(info)) continue;
    if (!keep || !keep(signal)) kill(pid_, signal);
  }
  return end;
}

bool Child::wait_until(const std::function<bool()>& done) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP}) sigaddset(&ends, signal);
  for (timespec pause{0, 1'000'000}; !done();
       pause.tv_nsec = std::min(pause.tv_nsec * 5 / 4, 100'000'000L)) {
    const int signal = sigtimedwait(&ends, nullptr, &pause);
    if (signal == SIGTSTP) raise(SIGSTOP);
    if (signal > 0 && signal != SIGTSTP) return false;
  }
  return true;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

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
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
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

namespace {

constexpr std::chrono::seconds kLimit{60};

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const size_t line = text.find_last_of('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

std::string describe_failure(const CapturedRun& run) {
  if (run.timed_out) return fmt::format("did not answer within {} s", kLimit.count());
  const std::string end = run.end.by_signal ? "was terminated by " + signal_name(run.end.number)
                                            : fmt::format("ended with status {}", run.end.number);
  const std::string words = last_line(run.standard_error);
  return words.empty() ? end : end + ", saying: " + words;
}

}  // namespace

Result<std::string> run_probe_process(const std::string& command, const Environment& environment) {
  const auto run =
      run_captured({own_executable().string(), command}, environment_strings(environment), kLimit);
  if (!run) return run.error();
  // The driver may write to standard output as well; the answer is the last line.
  std::string answer = last_line(run->standard_output);
  if (run->timed_out || run->end.by_signal || !answer.starts_with('{')) {
    return Error{describe_failure(*run)};
  }
  return answer;
}

}  // namespace tally::cli
