// Reads the completed submissions of one queue in order, and passes them to the reporter. A
// timeline semaphore of the layer tells when each has completed: the layer does not wait on or
// change any object of the application.
//
// A thread that waits for submissions which have completed reads them itself. A thread of the
// reader reads the others. It does not wait for each one, because most drivers wake whoever waits
// at every submission: small submissions that were made within a few milliseconds are read
// together.
#pragma once

#include <vulkan/vulkan_core.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "base/quiet_thread.h"
#include "capture/base/tables.h"
#include "capture/submit/submission.h"
#include "vk/queue_timeline.h"

namespace tally::capture {

class Reporter;

class SubmissionReader {
 public:
  using Matches = std::function<bool(const PendingSubmission&)>;

  SubmissionReader(VkDevice device, const DeviceTable& table, VkQueue queue, Reporter& reporter)
      : table_(table), queue_(queue), reporter_(reporter), timeline_(device, table) {}
  ~SubmissionReader();

  // Signals the completion of submissions: see PendingSubmission::value.
  vk::QueueTimeline<DeviceTable>& timeline() { return timeline_; }
  // Call this after the item's submission, from the thread that submitted: where the application
  // may use the queue now, so may the layer. An item without a value gets one. Waits while too
  // many completed commands are unread, which limits their memory.
  void add(PendingSubmission item);
  // Waits until the last matching item has been reported, for the GPU to complete it no longer than
  // `patience`. The time for reading and sending is not limited.
  void wait_for(const Matches& matches, std::chrono::milliseconds patience);
  // True if so much waits to be read that threads of the application must help.
  bool is_behind() {
    constexpr size_t kMaxItems = 256;
    const std::lock_guard lock(mutex_);
    return items_.size() > kMaxItems;
  }
  // Reports what the GPU completes within `patience`, discards the rest, and ends the thread.
  void stop(std::chrono::milliseconds patience);

 private:
  bool submit_signal(PendingSubmission& item);
  void run();
  bool await_items(std::unique_lock<std::mutex>& lock);
  void read_items();
  bool read_first(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds patience);
  VkResult await(const PendingSubmission& item, std::chrono::nanoseconds patience);
  void report(PendingSubmission& item, VkResult result);
  bool given_up() const;
  bool reading_is_behind() const { return reading_ && commands_ > kMaxUnreadCommands; }
  // True if the thread must read as soon as the GPU is done.
  bool urgent() const {
    return stopping_ || waiting_ != 0 || commands_ > kManyCommands || items_.size() > kManyItems;
  }

  static constexpr uint64_t kMaxUnreadCommands = uint64_t{1} << 21;
  // Reading more than that takes longer than waking the thread for it.
  static constexpr uint64_t kManyCommands = 1024;
  static constexpr size_t kManyItems = 64;

  const DeviceTable& table_;
  const VkQueue queue_;
  Reporter& reporter_;
  vk::QueueTimeline<DeviceTable> timeline_;
  std::mutex mutex_;
  // Submitted, but nothing tells of their completion: alive until a later submission has completed,
  // since the GPU may still use what they recorded.
  std::vector<std::unique_ptr<Submission>> untracked_;
  std::condition_variable added_;
  std::condition_variable reported_;
  std::deque<PendingSubmission> items_;
  bool busy_ = false;      // a thread reads the first item; no other removes it
  bool idle_ = false;      // the thread waits for an item
  uint32_t waiting_ = 0;   // threads that wait for the thread to read
  uint64_t commands_ = 0;  // of all items
  uint64_t reported_count_ = 0;
  bool reading_ = false;  // the first item has completed
  bool stopping_ = false;
  std::atomic<int64_t> give_up_ns_ = INT64_MAX;
  OnDemandThread thread_{"tally-read"};  // guarded by mutex_
};

}  // namespace tally::capture
