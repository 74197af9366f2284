// Tracks when submitted work completes: whether an instrumentation object is still in use (VUID
// 12374), so that memory is not freed while shaders write to it. Work that uses an object is
// submitted with a fence of the layer.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "counters/base/device_table.h"

namespace tally::counters {

class FencePool {
 public:
  FencePool(VkDevice device, const DeviceTable& next) : device_(device), next_(next) {}
  ~FencePool();
  FencePool(const FencePool&) = delete;
  FencePool& operator=(const FencePool&) = delete;

  // An unsignalled fence; VK_NULL_HANDLE if the driver cannot create one.
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
  // `fence` is submitted with the work. `semaphores`: the work also signals semaphores, which may
  // tell the application of the completion shortly before the fence is signalled.
  Submission(FencePool& pool, VkFence fence, bool semaphores)
      : pool_(pool), fence_(fence), semaphores_(semaphores) {}
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  bool done();
  // Waits for at most `timeout` nanoseconds. Returns whether it is done.
  bool wait(uint64_t timeout) { return finished(timeout); }
  // The same, with a short wait if semaphores are signalled.
  bool done_soon();
  // The fence was not submitted.
  void abandon();

 private:
  bool finished(uint64_t timeout);

  FencePool& pool_;
  std::mutex mutex_;
  VkFence fence_;  // VK_NULL_HANDLE: done
  const bool semaphores_;
};

}  // namespace tally::counters
