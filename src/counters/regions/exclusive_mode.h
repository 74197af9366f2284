// The exclusive mode of counters by region: work that captures never overlaps other capturing work,
// of another queue, device or process.
//
// From its submission until it has completed, capturing work holds the process's part in the
// system-wide lock. Within the process, capturing submissions of one queue may follow each other;
// one of another queue waits until these have completed, in the order of asking. It does not wait
// for work that can only run before or after it because a semaphore says so: it could wait for
// itself. What other ways there are to be deadlocked end with the timeout.
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

#include "base/system_lock.h"
#include "counters/objects/submission.h"

namespace tally::counters {

struct SemaphoreValue {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  uint64_t value = 0;  // 0 for a binary one
};

// A capturing submission, as far as its order is concerned.
struct CapturingWork {
  VkQueue queue = VK_NULL_HANDLE;
  std::vector<SemaphoreValue> waits;
  std::vector<SemaphoreValue> signals;
};

// Of the whole process. Thread-safe.
class ExclusiveMode {
 public:
  static ExclusiveMode& instance();

  // A hold, or nothing after `timeout_ns`.
  std::optional<uint64_t> enter(CapturingWork work, uint64_t timeout_ns);
  void leave(uint64_t hold);
  // Who has the lock, for a message; nothing where it cannot be told.
  std::optional<SystemLock::Holder> holder() const { return lock_.holder(); }

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

// The capturing submissions of one device that have not completed, and the thread that waits for
// them. Holds end when the work has completed.
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
