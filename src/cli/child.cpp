#include "cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/environment.h"

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

bool we_ignore_file_size_signal = false;

bool sent_by_process(const siginfo_t& info) { return info.si_code <= 0; }

int spawn(pid_t* pid, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &original_mask());
  sigset_t defaults;
  sigemptyset(&defaults);
  if (we_ignore_file_size_signal) sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(pid, arguments[0].c_str(), nullptr, &attributes,
                                 c_strings(arguments).data(), c_strings(environment).data());
  posix_spawnattr_destroy(&attributes);
  return error;
}

// Stops this process because the program has stopped. When we are continued, the program is
// continued, too.
void follow_stop(pid_t pid) {
  raise(SIGSTOP);
  kill(pid, SIGCONT);
}

}  // namespace

void block_forwarded_signals() {
  original_mask();
  // Our parent may have set SIGCHLD to be ignored; then we would never learn that the program
  // ended.
  signal(SIGCHLD, SIG_DFL);
  // Exceeding the file size limit must fail the write of the capture, not end this process.
  if (signal(SIGXFSZ, SIG_IGN) == SIG_DFL) we_ignore_file_size_signal = true;
  const sigset_t set = forwarded_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Result<Child> Child::start(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, int* exec_status) {
  block_forwarded_signals();
  pid_t pid = -1;
  int error = spawn(&pid, arguments, environment);
  if (error == ENOEXEC) {  // run a script without "#!" in the shell, as shells do
    std::vector<std::string> with_shell = arguments;
    with_shell.insert(with_shell.begin(), "/bin/sh");
    error = spawn(&pid, with_shell, environment);
  }
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

}  // namespace tally::cli
