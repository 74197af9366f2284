// The lock that makes profiling exclusive on the whole system: the Vulkan profiling lock, the
// exclusive mode of counters by region and EGL_ACQUIRE_COUNTERS_BRCM are all this one lock.
//
// It is a listening unix socket bound to an abstract address. Why not a lock file: every place that
// all users can write to (/tmp, /run/lock) lets another user plant a file or a link there first,
// and every place where nobody can plant anything ($XDG_RUNTIME_DIR) excludes only processes of the
// same user. An abstract address
//  - is taken atomically, by one process of the network namespace at a time, whoever its user is,
//  - is no file: nothing to plant, to replace, to follow, to leave behind, and no permission to get
//  wrong,
//  - is freed by the kernel when its holder ends, also by SIGKILL,
//  - carries nothing: the holder never reads or writes a byte; its listening socket only lets
//  others see who it is
//    (kernel-checked pid and uid) and wakes them when it goes away, so that waiting needs no
//    polling.
// What it cannot do, because no lock without a privileged daemon can: keep another user from
// holding it long. holder() says who that is. Processes in different network namespaces
// (containers) do not exclude each other.
//
// Invariants: at most one SystemLock of a name is held at a time, in all processes and within a
// process. A child of fork() holds nothing, whatever its parent held, and cannot keep alive what
// its parent held. One object may be used by one thread at a time; different objects by different
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
    Acquired,     // held now (also when this object held it already)
    Busy,         // another one held it until the timeout
    Unavailable,  // this process may not use such sockets (sandbox, no file descriptors left)
  };

  struct Holder {
    pid_t pid;
    uid_t uid;
  };

  // The lock that all of Tally shares. TALLY_PROFILING_LOCK names another one: for tests that run
  // side by side.
  SystemLock();
  explicit SystemLock(std::string name);
  ~SystemLock();
  SystemLock(const SystemLock&) = delete;
  SystemLock& operator=(const SystemLock&) = delete;

  // Waits up to timeout_ns for the lock: 0 only tries, kForever waits without end.
  Outcome acquire(uint64_t timeout_ns);
  void release();
  bool held() const;

  // Who holds the lock of this name now, as far as it can be seen; this process counts too.
  std::optional<Holder> holder() const;

 private:
  Outcome try_once();

  std::string name_;
  int fd_ = -1;
};

}  // namespace tally
