// Waits for the submissions of one queue in their order and has them reported, on a thread of its
// own. The application's submission was followed by a fence of ours; nothing of the application's
// is waited on or touched.
#pragma once

#include <vulkan/vulkan_core.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "capture/reporter.h"
#include "capture/submission.h"
#include "capture/tables.h"

namespace tally::capture {

// Free fences of a device.
class FencePool {
 public:
  FencePool(VkDevice device, const DeviceTable& table) : device_(device), table_(table) {}
  VkFence borrow();  // unsignalled; null when there is none
  void give_back(VkFence fence);
  void destroy_all();
  VkResult wait(VkFence fence, std::chrono::nanoseconds patience) const;

 private:
  const VkDevice device_;
  const DeviceTable& table_;
  std::mutex mutex_;
  std::vector<VkFence> free_;
};

class Harvester {
 public:
  using Matches = std::function<bool(const HarvestItem&)>;

  Harvester(FencePool& fences, Reporter& reporter) : fences_(fences), reporter_(reporter) {}
  ~Harvester() { stop(std::chrono::milliseconds::max()); }

  void add(HarvestItem item);
  // Waits until the last item that matches has been reported; false: not in time.
  bool wait_for(const Matches& matches, std::chrono::milliseconds patience);
  // Reports what completes within `patience`, gives up the rest, and ends the thread.
  void stop(std::chrono::milliseconds patience);

 private:
  void run();
  void finish(HarvestItem& item);
  bool given_up() const;

  FencePool& fences_;
  Reporter& reporter_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::condition_variable reported_;
  std::deque<HarvestItem> items_;  // only the thread removes
  uint64_t added_count_ = 0;
  uint64_t reported_count_ = 0;
  bool stopping_ = false;
  std::atomic<int64_t> give_up_ns_ = INT64_MAX;
  std::thread thread_;
};

}  // namespace tally::capture
