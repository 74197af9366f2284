// The lock that makes profiling exclusive on the whole system. The Vulkan profiling lock, the
// exclusive mode of counters by region and EGL_ACQUIRE_COUNTERS_BRCM all use this one lock.
//
// It is a listening Unix socket bound to an abstract address. A lock file of ours would not do: in
// a directory that all users can write to (/tmp, /run/lock), another user can plant a file or a
// link first; a directory that nobody else can write to ($XDG_RUNTIME_DIR) excludes only processes
// of the same user. An abstract address
//  - is acquired atomically, by one process of the network namespace at a time, for any user,
//  - is not a file: it has no permissions and cannot be planted, replaced, followed or left behind,
//  - is released by the kernel when its holder ends, even by SIGKILL,
//  - carries no data: the holder never reads or writes a byte. The listening socket only lets
//    others see the holder (the kernel verifies pid and uid) and wakes them when it closes, so
//    that waiting needs no polling.
//
// An abstract address belongs to a network namespace, so a container may have its own. Therefore
// the holder also locks a byte of /dev/null, chosen by the lock's name (an open-file-description
// lock). That is one file for the whole system, which belongs to root, and which bubblewrap,
// Flatpak and rootless Podman show to the programs inside. Its waiters poll. A container engine
// that makes device nodes of its own (Docker as root) has another /dev/null: there, processes
// exclude each other only within a container.
//
// It cannot keep another user from holding the lock for long; no lock without a privileged daemon
// can. holder() identifies that user, in the same network namespace.
//
// Invariants: at most one SystemLock of a name is held at a time, across all processes and within
// one process. A child of fork() never holds the lock and cannot keep alive what its parent held.
// One object may be used by one thread at a time; different objects may be used by different
// threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tally {

class SystemLock {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  enum class Outcome {
    Acquired,     // held now, including when this object already held it
    Busy,         // another SystemLock held it until the timeout
    Unavailable,  // this process cannot open such sockets (sandbox, no file descriptors left)
  };

  struct Holder {
    pid_t pid;
    uid_t uid;
  };

  // The lock that all of Tally shares. TALLY_PROFILING_LOCK selects another name, for tests that
  // run in parallel.
  SystemLock();
  explicit SystemLock(std::string name);
  ~SystemLock();
  SystemLock(const SystemLock&) = delete;
  SystemLock& operator=(const SystemLock&) = delete;

  // Waits up to timeout_ns nanoseconds for the lock. 0 does not wait; kForever waits without limit.
  Outcome acquire(uint64_t timeout_ns);
  void release();
  bool held() const;

  // The current holder of the lock of this name, if it is visible from this network namespace. It
  // may be this process.
  std::optional<Holder> holder() const;

 private:
  Outcome try_once();

  std::string name_;
  // Numbers in the process's list of held files; 0: none.
  uint64_t socket_ = 0;  // that listens
  uint64_t byte_ = 0;    // /dev/null, with a byte locked; none as well where there is no /dev/null
};

}  // namespace tally
