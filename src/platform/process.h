// This process: its program, environment, standard streams, threads and end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace tally::platform {

// 0: not known.
pid_t parent_process();

// The file of this process's program; empty if it is not known.
std::string executable_path();

std::vector<std::string> command_line();

// nullptr: it is not set, or the program is privileged. Then whoever started the program must not
// choose its files.
const char* trusted_variable(const char* name);

// The environment as "NAME=value".
std::vector<std::string> variables();

// Separates the entries of a list in a variable: ":" on Linux, ";" on Windows.
char list_separator();

bool is_terminal(std::FILE* stream);

// In cells. Nothing where standard output is no terminal.
std::optional<size_t> terminal_width();

// Blocks the asynchronous signals of the calling thread during its lifetime. Synchronous signals,
// which its own instructions raise, are not blocked: an application may handle and recover from
// them, for example to track writes to protected pages, and the kernel kills the process if such a
// signal is blocked. Windows runs handlers on threads of its own.
class QuietScope {
 public:
  enum class Synchronous {
    AsTheyAre,
    Unblocked,  // the thread may have blocked some
  };

  explicit QuietScope(Synchronous synchronous = Synchronous::AsTheyAre);
  ~QuietScope();
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;

 private:
  struct alignas(8) SignalSet {
    std::byte bytes[128];
  };
  SignalSet before_;
};

// Calls `function` when the process exits, while its other threads still run; if `also_quickly`,
// also in quick_exit(). Windows ends them before it calls anything: there it is not called.
void before_exit(void (*function)(), bool also_quickly = false);

// Keeps the library that it is linked into loaded. On Linux an option of the linker does it.
void stay_loaded();

}  // namespace tally::platform
