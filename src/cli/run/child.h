// Runs a program transparently: it stays in our process group and keeps our terminal and standard
// streams. Signals sent to us are forwarded to it; when it stops, we stop; when it ends, we return
// its status. Every program that `tally` starts has the signal dispositions, the signal mask and
// the closed standard streams that `tally` was given.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/run/environment.h"

namespace tally::cli {

// For main(), before anything else. Standard streams that are closed fail each read and write from
// then on, so that no file of ours gets their number. A file beyond the size limit is an error, as
// on a full disk.
void prepare_process();

// Changes the disposition for this process alone.
void set_disposition(int signal, void (*handler)(int));

struct Spawn {
  std::array<int, 3> streams = {-1, -1, -1};  // descriptors for the standard streams; -1: ours
  bool new_session = false;
};

// Starts `arguments[0]` (searched in PATH; a script without "#!" runs in the shell). Returns 0 or
// errno.
int spawn_program(pid_t* pid, const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment, const Spawn& how = {});

// How a program ended.
struct ChildEnd {
  bool by_signal = false;
  int number = 0;  // the exit status, or the signal's number
  bool core_dumped = false;

  // The status that a shell would report: the exit status, or 128 + the signal.
  int shell_status() const { return by_signal ? 128 + number : number; }
};

class Child {
 public:
  // Starts `arguments[0]` (searched in PATH) with `environment`. From then on the forwarded signals
  // are blocked in the calling thread. Threads that were started earlier must block them too (see
  // block_forwarded_signals). On an error, `exec_status` is 127 if the program does not exist and
  // 126 if it cannot be executed.
  static Result<Child> start(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment, int* exec_status);

  // Waits for the end, forwarding signals and following stops. `keep`, if there is one, is asked
  // first: a signal for which it returns true is not forwarded.
  ChildEnd wait(const std::function<bool(int signal)>& keep = {});

  // For use after the program has ended. Calls `done` every tenth of a second until it returns
  // true. Returns false if a signal asks us to stop first.
  static bool wait_until(const std::function<bool()>& done);

  pid_t pid() const { return pid_; }

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  bool reap(ChildEnd* end);

  pid_t pid_;
};

// Blocks the signals that Child::wait forwards, in the calling thread and those it starts later.
void block_forwarded_signals();

// "SIGSEGV", or "signal 40" where it has no name.
std::string signal_name(int signal);

// Runs a program to its end and captures its output.

struct CapturedRun {
  std::string standard_output;
  std::string standard_error;
  ChildEnd end;
  bool timed_out = false;  // the time limit expired and the program was killed
};

// Standard input is empty. Keeps at most 16 MiB of each stream.
Result<CapturedRun> run_captured(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 std::chrono::seconds limit);

// Queries a driver in a separate process, so that a driver that crashes ends only that process.

// Returns the last line that `tally COMMAND` writes in this environment. The error describes how
// the process failed; it follows the words "the X probe".
Result<std::string> run_probe_process(const std::string& command, const Environment& environment);

}  // namespace tally::cli
