// Programs: what their files are, and running one transparently. It keeps our terminal and standard
// streams, and on Linux our process group. Signals sent to us are forwarded to it, and Ctrl-C
// reaches it; when it stops, we stop; when it ends, we return its status. On Linux every program
// that `tally` starts has the signal dispositions, the signal mask and the closed standard streams
// that `tally` was given.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace tally::platform {

// Files of programs.

// The file of a program that is searched in `search_path`, a list like PATH (on Windows in this
// process's); empty if there is none.
std::string find_program(const std::string& program, const std::string& search_path);
bool is_executable(const std::string& file);
bool runs_with_elevated_rights(const std::string& file);
// True if the file is for another word size or processor than this program, so that our layers
// cannot be loaded into it.
bool has_other_architecture(const std::string& file);
bool is_statically_linked(const std::string& file);
// It is wine, or a program for Windows that runs under it.
bool runs_wine(const std::string& file);

// Vulkan's loader.

// A library that stays loaded.
class Library {
 public:
  // Searched where the system does.
  static Result<Library> open(const std::string& file);
  void* find(const char* symbol) const;
  std::string path() const;  // empty: not known

 private:
  explicit Library(void* handle) : handle_(handle) {}

  void* handle_;
};

std::string vulkan_loader();
// True if the loader reads manifests in the folders for configuration and data that variables and
// conventions name. On Windows it asks the registry.
bool loader_reads_folders();

// A name of the folder that the loader finds from every program. On Windows it reads names in the
// program's code page, so it is the short one if the folder's own has letters beyond ASCII; the
// folder's own where the volume keeps no short names.
std::string name_for_loader(const std::string& folder);

// Where the loader ignores the variables that name layers, because Windows elevates this process,
// they are in the registry for the lifetime of this object. If this process is ended by force,
// another of this program removes them.
class LayerFolders {
 public:
  // Says nothing; problem() does.
  explicit LayerFolders(const std::vector<std::string>& folders);
  LayerFolders(const LayerFolders&) = delete;
  LayerFolders& operator=(const LayerFolders&) = delete;
  ~LayerFolders();

  // The loader ignores variables here, so it asks the registry.
  bool are_in_registry() const;
  const std::string& problem() const { return problem_; }

 private:
  struct Held;

  std::unique_ptr<Held> held_;
  std::string problem_;
};

// Folders of layers that are still in the registry, of runs that were ended by force with the
// process that would remove them. An elevated process removes them with LayerFolders.
std::vector<std::string> left_layer_folders();

// Running programs.

// For main(), before anything else. Standard streams that are closed fail each read and write from
// then on, so that no file of ours gets their number. A file beyond the size limit is an error, as
// on a full disk.
void prepare_process();

// Changes the disposition for this process alone. On Linux.
void set_disposition(int signal, void (*handler)(int));

struct Spawn {
  std::array<int, 3> streams = {-1, -1, -1};  // descriptors for the standard streams; -1: ours
  bool new_session = false;
};

// Starts `arguments[0]` (searched in PATH; a script without "#!" runs in the shell). Returns 0 or
// errno. On Linux.
int spawn_program(pid_t* pid, const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment, const Spawn& how = {});

// How a program ended.
struct ChildEnd {
  bool by_signal = false;  // on Windows: by an exception
  int number = 0;          // the exit status, or the signal's or exception's number
  bool core_dumped = false;

  // The status that a shell would report: the exit status, or 128 + the signal; the exception's
  // number.
  int shell_status() const;
};

class Child {
 public:
  // Starts `arguments[0]` (searched in PATH) with `environment` ("NAME=value"). From then on the
  // forwarded signals are blocked in the calling thread. Threads that were started earlier must
  // block them too (see block_forwarded_signals). On an error, `exec_status` is 127 if the program
  // does not exist and 126 if it cannot be executed.
  static Result<Child> start(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment, int* exec_status);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  // Waits for the end, forwarding signals and following stops. `on_request`, if there is one, is
  // called for SIGUSR1; if it returns true, the signal is not forwarded.
  ChildEnd wait(const std::function<bool()>& on_request = {});

  // After the end: how many processes are left of those that the program started, where the system
  // can tell (on Windows).
  size_t left() const;

  // For use after the program has ended. Calls `done` every tenth of a second until it returns
  // true. Returns false if a signal or Ctrl-C asks us to stop first.
  static bool wait_until(const std::function<bool()>& done);

 private:
  struct Held;
  explicit Child(std::unique_ptr<Held> held);

  std::unique_ptr<Held> held_;
};

// Blocks the signals that Child::wait forwards, in the calling thread and those it starts later.
void block_forwarded_signals();

// A process of this user with that number runs.
bool is_running(pid_t process);

// "SIGSEGV", or "signal 40" where it has no name; on Windows "exception c0000005".
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

}  // namespace tally::platform
