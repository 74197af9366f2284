// The profiling lock of one device (vkAcquireProfilingLockKHR): the system-wide lock of
// platform/system_lock.h. One device of one process holds it at a time, and it is released when the
// process ends. If the driver has a lock too, both are acquired or neither. Acquiring a lock that
// the device holds succeeds, and one release releases it.
//
// Thread-safe. If the process cannot create the lock (in a sandbox), acquiring succeeds: the
// specification allows several holders.
#pragma once

#include <vulkan/vulkan_core.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "platform/system_lock.h"

namespace tally::counters {

// The driver's lock, if it has one.
struct DriverLock {
  std::function<VkResult(uint64_t timeout_ns)> acquire;
  std::function<void()> release;
};

class ProfilingLock {
 public:
  explicit ProfilingLock(DriverLock driver = {}) : driver_(std::move(driver)) {}

  // VK_TIMEOUT if another device holds it for `timeout_ns`; else the result of the driver's lock.
  VkResult acquire(uint64_t timeout_ns);
  // Returns whether the device held it.
  bool release();

 private:
  VkResult acquire_both(uint64_t timeout_ns);

  const DriverLock driver_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asking_ = false;  // a thread is inside acquire_both()
  bool held_ = false;
  SystemLock lock_;  // used by the thread that set asking_, else guarded by the mutex
};

}  // namespace tally::counters
