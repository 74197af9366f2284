// GPU times from the layer's own timestamp queries, in query pools that recordings borrow.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "capture/base/tables.h"
#include "store/stream/stream.h"
#include "vk/own_call.h"

namespace tally::capture {

namespace stream = store::stream;

// Free query pools of a device.
class TimestampPools {
 public:
  static constexpr uint32_t kQueries = 128;

  TimestampPools(VkDevice device, const DeviceTable& table) : device_(device), table_(table) {}

  VkQueryPool borrow();  // null if the driver has none left
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

// The index of a pair of begin and end timestamps.
using TimestampPair = uint32_t;

// The timestamps of one recording. One thread records them. They are read after the execution has
// completed.
class Timestamps {
 public:
  explicit Timestamps(TimestampPools& pools) : pools_(pools) {}
  ~Timestamps();
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;

  // Writes the begin timestamp. Call it outside of render passes. Returns nullopt if there are no
  // queries.
  std::optional<TimestampPair> begin(VkCommandBuffer command_buffer);
  void end(VkCommandBuffer command_buffer, TimestampPair pair) const;

  // Converts raw ticks to nanoseconds.
  struct Clock {
    double period_ns = 1;
    uint32_t valid_bits = 64;
  };
  // Returns the times by pair; nullopt for a pair that was not written.
  std::vector<std::optional<stream::GpuTime>> read(const Clock& clock,
                                                   vk::OwnFailure& failure) const;

 private:
  void write(VkCommandBuffer command_buffer, uint32_t query) const;

  TimestampPools& pools_;
  std::vector<VkQueryPool> chunks_;
  uint32_t pairs_ = 0;
};

}  // namespace tally::capture
