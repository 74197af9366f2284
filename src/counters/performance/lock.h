// The profiling lock of one device (vkAcquireProfilingLockKHR): the system-wide lock of
// base/system_lock.h, which one device of one process holds at a time, and which goes with it.
// Where the driver has a lock of its own, both are had or neither.
// Acquiring it again where the device has it succeeds; one release gives it back.
//
// Any thread may call. Where the process may have no such lock (a sandbox), profiling goes on
// without: the specification lets several hold it at once.
#pragma once

#include <vulkan/vulkan_core.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/system_lock.h"

namespace tally::counters {

// The driver's own lock.
struct DriverLock {
  std::function<VkResult(uint64_t timeout_ns)> acquire;
  std::function<void()> release;
};

class ProfilingLock {
 public:
  explicit ProfilingLock(DriverLock driver = {}) : driver_(std::move(driver)) {}

  // VK_TIMEOUT where another holds it for `timeout_ns` longer, or what the driver's lock says.
  VkResult acquire(uint64_t timeout_ns);
  // Whether it was held.
  bool release();
  bool held() const;

 private:
  VkResult acquire_both(uint64_t timeout_ns);

  const DriverLock driver_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool asking_ = false;  // a thread is inside acquire_both()
  bool held_ = false;
  SystemLock lock_;  // used by the thread that has set asking_, else under the mutex
};

}  // namespace tally::counters
