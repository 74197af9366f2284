// The lock that makes profiling exclusive on the whole system. The Vulkan profiling lock, the
// exclusive mode of counters by region and EGL_ACQUIRE_COUNTERS_BRCM all use this one lock.
//
// It is a name that one process of the system has at a time, for any user. It is no file: it has no
// permissions and cannot be planted, replaced, followed or left behind. The system releases it when
// its holder ends, however that ends.
//
// It cannot keep another user from holding the lock for long; no lock without a privileged daemon
// can.
//
// Invariants: at most one SystemLock of a name is held at a time, across all processes and within
// one process. A child of fork() never holds the lock and cannot keep alive what its parent held.
// One object may be used by one thread at a time; different objects may be used by different
// threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tally {

class SystemLock {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  enum class Outcome {
    Acquired,     // held now, including when this object already held it
    Busy,         // another SystemLock held it until the timeout
    Unavailable,  // this process cannot have such names (sandbox, no file descriptors left)
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

  // The process that holds the lock of this name, if this process can see it: on Linux one in the
  // same network namespace, on Windows only this process itself.
  std::optional<pid_t> holder() const;

 private:
  struct Held;

  Outcome try_once();

  std::string name_;
  std::unique_ptr<Held> held_;
};

}  // namespace tally
