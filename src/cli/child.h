// Runs a program as though this process were it: it stays in our process group and keeps our
// terminal and standard streams; signals sent to us reach it; when it stops, we stop; when it ends,
// its status is ours.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace tally::cli {

// How a program ended.
struct ChildEnd {
  bool by_signal = false;
  int number = 0;  // exit status, or the signal
  bool core_dumped = false;

  // What a shell would report: the exit status, or 128 + the signal.
  int shell_status() const { return by_signal ? 128 + number : number; }
};

class Child {
 public:
  // Starts `arguments[0]` (searched in PATH) with `environment`. From here on the forwarded signals
  // are blocked in the calling thread; threads that are started before must block them too (see
  // block_forwarded_signals). An Error carries `exec_status`: 127 where there is no such program,
  // 126 where it cannot be executed.
  static Result<Child> start(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment, int* exec_status);

  // Waits for the end, forwarding signals and following stops.
  ChildEnd wait();

  // After the end: waits until `done` returns true, or until a signal asks us to stop; false in the
  // latter case. Looks at `done` after a millisecond, then ever more rarely, up to every tenth of a
  // second.
  static bool wait_until(const std::function<bool()>& done);

  pid_t pid() const { return pid_; }

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  bool reap(ChildEnd* end);

  pid_t pid_;
};

// Blocks the signals that Child::wait forwards, in the calling thread and those it starts later.
// Child::start gives the program the mask that was in force before.
void block_forwarded_signals();

// "SIGSEGV", or "signal 40" where it has no name.
std::string signal_name(int signal);

}  // namespace tally::cli
