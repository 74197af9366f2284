// The exclusive mode of counters by region: capturing work never overlaps capturing work of another
// queue, device or process.
//
// The process holds the system-wide lock from the submission of capturing work until its
// completion. Within the process, capturing submissions of one queue may follow each other. A
// submission to another queue waits until they have completed, in first-come order. It does not
// wait for work that a semaphore orders before or after it, which would be a deadlock. The timeout
// resolves all other deadlocks.
#pragma once

#include <vulkan/vulkan_core.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "counters/base/submission.h"
#include "platform/system_lock.h"

namespace tally::counters {

struct SemaphoreValue {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  uint64_t value = 0;  // 0 for a binary one
};

// A capturing submission and what orders it.
struct CapturingWork {
  VkQueue queue = VK_NULL_HANDLE;
  std::vector<SemaphoreValue> waits;
  std::vector<SemaphoreValue> signals;
};

// One for the process. Thread-safe.
class ExclusiveMode {
 public:
  static ExclusiveMode& instance();

  // The ID of a hold; nothing after `timeout_ns`.
  std::optional<uint64_t> enter(CapturingWork work, uint64_t timeout_ns);
  void leave(uint64_t hold);
  // The process that holds the lock, for messages; nothing if unknown.
  std::optional<pid_t> holder() const { return lock_.holder(); }

 private:
  struct Hold {
    uint64_t id;
    CapturingWork work;
  };

  ExclusiveMode() = default;
  bool may_enter(const CapturingWork& work, uint64_t ticket) const;
  bool acquire_lock(uint64_t timeout_ns);

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  SystemLock lock_;
  std::vector<Hold> holds_;
  std::list<uint64_t> waiting_;  // tickets, oldest first
  uint64_t next_id_ = 1;
};

// The pending capturing submissions of one device, and a thread that ends their holds when they
// complete.
class CapturingQueue {
 public:
  CapturingQueue() = default;
  ~CapturingQueue();
  CapturingQueue(const CapturingQueue&) = delete;
  CapturingQueue& operator=(const CapturingQueue&) = delete;

  void watch(std::shared_ptr<Submission> submission, uint64_t hold);

 private:
  struct Watched {
    std::shared_ptr<Submission> submission;
    uint64_t hold;
  };
  void run();

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Watched> watched_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tally::counters
