// The GPU work of mode Device: zeroes records and copies them to host-visible memory. Every job is
// one submission, so that a caller waits for its own job alone. Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "counters/memory/context.h"

namespace tally::counters {

class Transfer {
 public:
  explicit Transfer(const MemoryContext& context) : context_(context) {}
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // A submitted job. Pass every job to finish().
  struct Job {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
  };

  // Submits what `record` records, between barriers against shader writes before and after.
  VkResult submit(const std::function<void(VkCommandBuffer)>& record, Job& job);
  bool done(const Job& job) const;
  // Waits for the job and recycles its objects.
  VkResult finish(const Job& job);

  VkResult run(const std::function<void(VkCommandBuffer)>& record);

 private:
  VkResult take_idle_job(Job& job);
  VkResult record_job(const Job& job, const std::function<void(VkCommandBuffer)>& record);

  const MemoryContext& context_;
  std::mutex mutex_;  // guards the pool (recording included) and idle_
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<Job> idle_;
};

}  // namespace tally::counters
