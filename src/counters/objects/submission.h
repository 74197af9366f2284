// When submitted work is done: needed to say whether an instrumentation object is still in use
// (VUID 12374), and never to free memory that a shader writes to. A submission that concerns an
// object is followed by an empty one with a fence.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "counters/layer/device_table.h"

namespace tally::counters {

class FencePool {
 public:
  FencePool(VkDevice device, const DeviceTable& next) : device_(device), next_(next) {}
  ~FencePool();
  FencePool(const FencePool&) = delete;
  FencePool& operator=(const FencePool&) = delete;

  // Unsignalled; VK_NULL_HANDLE when the driver has no more.
  VkFence take();
  void give_back(VkFence fence);

 private:
  friend class Submission;
  VkDevice device_;
  const DeviceTable& next_;
  std::mutex mutex_;
  std::vector<VkFence> idle_;
};

class Submission {
 public:
  // `fence` goes with the work. `semaphores`: the work also signals semaphores, through which the
  // application may learn that it is done a moment before the fence tells.
  Submission(FencePool& pool, VkFence fence, bool semaphores)
      : pool_(pool), fence_(fence), semaphores_(semaphores) {}
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  bool done();
  // Whether it is done, after at most this many nanoseconds.
  bool wait(uint64_t timeout) { return finished(timeout); }
  // The same, with the moment.
  bool done_soon();
  // The fence was not submitted after all.
  void abandon();

 private:
  bool finished(uint64_t timeout);

  FencePool& pool_;
  std::mutex mutex_;
  VkFence fence_;  // VK_NULL_HANDLE when done
  const bool semaphores_;
};

}  // namespace tally::counters
