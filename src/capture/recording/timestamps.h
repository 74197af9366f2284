// GPU times: timestamp queries of the layer's own, in pools that recordings borrow.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "capture/tables.h"
#include "store/stream.h"

namespace tally::capture {

namespace stream = store::stream;

// Free query pools of a device.
class TimestampPools {
 public:
  static constexpr uint32_t kQueries = 128;

  TimestampPools(VkDevice device, const DeviceTable& table) : device_(device), table_(table) {}

  VkQueryPool borrow();  // null when the driver has none left
  void give_back(VkQueryPool pool);
  void destroy_all();

  VkDevice device() const { return device_; }
  const DeviceTable& table() const { return table_; }

 private:
  const VkDevice device_;
  const DeviceTable& table_;
  std::mutex mutex_;
  std::vector<VkQueryPool> free_;
};

// A begin and an end, taken together.
using TimestampPair = uint32_t;

// The timestamps of one recording. Recorded by one thread; read after the execution has completed.
class Timestamps {
 public:
  explicit Timestamps(TimestampPools& pools) : pools_(pools) {}
  ~Timestamps();
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;

  // Writes the beginning; outside of render passes. None: no queries.
  std::optional<TimestampPair> begin(VkCommandBuffer command_buffer);
  void end(VkCommandBuffer command_buffer, TimestampPair pair) const;

  // How raw ticks become nanoseconds.
  struct Clock {
    double period_ns = 1;
    uint32_t valid_bits = 64;
  };
  // By pair; those that were not written are none.
  std::vector<std::optional<stream::GpuTime>> read(const Clock& clock) const;

 private:
  void write(VkCommandBuffer command_buffer, uint32_t query) const;

  TimestampPools& pools_;
  std::vector<VkQueryPool> chunks_;
  uint32_t pairs_ = 0;
};

}  // namespace tally::capture
