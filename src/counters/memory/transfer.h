// The GPU work of mode Device: fills records with zeros and copies them to where the host can read.
// Every job is a submission of its own, so that one can be awaited while others run. Thread-safe.
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

  // A submitted job. Must be handed to finish() in the end.
  struct Job {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
  };

  // Submits what `record` records, between barriers against shader writes before and after.
  VkResult submit(const std::function<void(VkCommandBuffer)>& record, Job& job);
  bool done(const Job& job) const;
  // Waits, then takes the job's objects back.
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
