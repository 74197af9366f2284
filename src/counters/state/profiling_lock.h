// The profiling lock of one device (vkAcquireProfilingLockKHR): the system-wide lock of
// base/system_lock.h, which one device of one process holds at a time, and which goes with it.
// Acquiring it again where the device has it succeeds; one release gives it back.
//
// Any thread may call. Where the process may have no such lock (a sandbox), profiling goes on
// without: the specification lets several hold it at once.
#pragma once

#include <vulkan/vulkan_core.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/system_lock.h"

namespace tally::counters {

class ProfilingLock {
 public:
  // VK_TIMEOUT where another holds it for `timeout_ns` longer.
  VkResult acquire(uint64_t timeout_ns);
  // Whether it was held.
  bool release();
  bool held() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool asking_ = false;  // a thread is inside lock_.acquire()
  bool held_ = false;
  SystemLock lock_;  // used by the thread that has set asking_, else under the mutex
};

}  // namespace tally::counters
