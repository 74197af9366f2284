// The environment, the standard streams, the threads and the end of this process.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace tally::platform {

// nullptr: it is not set, or the program is privileged. Then whoever started the program must not
// choose its files.
const char* trusted_variable(const char* name);

// The environment as "NAME=value".
std::vector<std::string> variables();

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

// Calls `function` when the process exits, while its other threads still run. Windows ends them
// before it calls anything: there it is not called.
void before_exit(void (*function)());

// Keeps the library that it is linked into loaded. On Linux an option of the linker does it.
void stay_loaded();

}  // namespace tally::platform
