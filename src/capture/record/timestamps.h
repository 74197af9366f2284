// GPU times from the layer's own timestamp queries, in query pools that recordings borrow.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "capture/base/tables.h"
#include "capture/record/host_memory.h"
#include "store/stream/stream.h"
#include "vk/own_call.h"

namespace tally::capture {

namespace stream = store::stream;

// The timestamps of a device. The specification lets a timestamp of the top of the pipe be written
// before earlier work is complete; some drivers write it later.
struct TimestampRules {
  bool host_reset = false;        // the feature hostQueryReset is enabled
  bool held_by_barriers = false;  // by barriers that wait for earlier work
  bool held_by_draws = false;     // by earlier draws of the same render pass
  // The driver writes a timestamp in each tile of the framebuffer, one framebuffer after another.
  // So behind a large pass it is written in a pass of one pixel, and of short passes a part is
  // timed (PassSample).
  bool in_each_tile = false;
  // vkGetQueryPoolResults waits for all work of the device, which may wait for the application. So
  // command buffers copy the results to memory.
  bool copied = false;
};

// Free query pools of a device.
class TimestampPools {
 public:
  static constexpr uint32_t kQueries = 128;

  TimestampPools(VkDevice device, const DeviceTable& table, TimestampRules rules)
      : device_(device), table_(table), rules_(rules) {}

  VkQueryPool borrow();  // null if the driver has none left
  void give_back(VkQueryPool pool);
  void destroy_all();

  // A render pass of one pixel, without attachments.
  struct SmallPass {
    VkRenderPass pass = VK_NULL_HANDLE;
    VkFramebuffer framebuffer = VK_NULL_HANDLE;
  };
  // Null handles if the driver refuses it.
  const SmallPass& small_pass();

  VkDevice device() const { return device_; }
  const DeviceTable& table() const { return table_; }
  bool host_reset() const { return rules_.host_reset && table_.ResetQueryPool; }
  const TimestampRules& rules() const { return rules_; }

 private:
  const VkDevice device_;
  const DeviceTable& table_;
  const TimestampRules rules_;
  std::mutex mutex_;
  std::vector<VkQueryPool> free_;
  std::once_flag makes_small_pass_;
  SmallPass small_pass_;
};

// The number of a new sample of times; not 0. Samples of passes and of dispatches (Launch) have
// different numbers.
uint64_t new_time_sample();

// Render passes that are alike: they have equal attachments, sizes and labels. While they are
// short, a random part of them is timed for all. Thread-safe.
class PassSample {
 public:
  explicit PassSample(uint64_t key) : key_(key) {}

  uint64_t key() const { return key_; }
  // How the next pass is measured.
  struct Turn {
    // Its time, if it has one, is in the mean that passes without a time get.
    bool sampled = false;
    bool timed = true;
  };
  Turn next();
  // Takes the time of a pass.
  void learn(int64_t ns);
  uint64_t number() const { return number_; }

 private:
  // Times of the first passes are not typical: drivers compile, clocks and caches change.
  static constexpr uint32_t kWarmUp = 64;
  // Longer passes are all timed: the timestamps are a small part of their cost.
  static constexpr int64_t kShortNs = 16'000'000;
  // One of so many is timed, and all of the first kFirst, so that a sample has an error soon.
  static constexpr uint32_t kPart = 16;
  static constexpr uint32_t kFirst = 4;

  const uint64_t key_;
  const uint64_t number_ = new_time_sample();
  std::atomic<uint32_t> begun_ = 0;
  std::atomic<uint32_t> sampled_ = 0;
  std::atomic<int64_t> recent_ns_ = -1;  // a mean of the last times; -1: not known yet
};

// Those of a device. Thread-safe; takes no lock for those that it returned lately.
class PassSamples {
 public:
  // `key`: a hash of what makes passes alike. Null if there are too many different ones.
  PassSample* find(uint64_t key);

 private:
  static constexpr size_t kMaxSamples = 4096;
  static constexpr size_t kRecent = 64;

  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<PassSample>> samples_;
  std::array<std::atomic<PassSample*>, kRecent> recent_{};
};

// The index of a time: the time between two timestamps.
using TimeIndex = uint32_t;

// Where a timestamp is written.
struct TimestampPlace {
  bool in_pass = false;  // where the GPU can reset no queries
  uint32_t views = 1;    // of the pass: a timestamp takes a query for each
  uint64_t pixels = 0;   // of the pass that ends here
};

// The timestamps of one recording. One thread records them. They are read after the execution has
// completed.
//
// Each is written when all earlier work is complete: at the bottom of the pipe, or at the top where
// the driver holds timestamps back until then (TimestampRules). The bottom of the pipe would stop
// the GPU once more in front of a barrier, and llvmpipe's threads once more behind a pass. A time
// that begins where another one has ended shares its timestamp, unless the command buffer has
// recorded work in between. So the times of a queue add up, and no time is counted twice. The time
// of a command includes what the barriers before it wait for.
class Timestamps {
 public:
  // `simultaneous`: it may be submitted while it is pending, so only the GPU can reset its queries.
  Timestamps(TimestampPools& pools, bool simultaneous)
      : pools_(pools), host_reset_(pools.host_reset() && !simultaneous) {}
  ~Timestamps();
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;

  // Begins a time. Returns nullopt if there are no queries.
  std::optional<TimeIndex> begin(VkCommandBuffer command_buffer, const TimestampPlace& place);
  void end(VkCommandBuffer command_buffer, const TimestampPlace& place, TimeIndex time);
  // Ends the time of a render pass behind its last draw, in the pass. Returns false if that is not
  // possible: the time ends behind the pass.
  bool end_in_pass(VkCommandBuffer command_buffer, const TimestampPlace& place, TimeIndex time);
  // Ends the time of a dispatch outside of render passes. The timestamp may follow later: call
  // after_compute_barrier, and `finish` at the end of the command buffer.
  void end_dispatch(VkCommandBuffer command_buffer, TimeIndex time);
  // The command buffer has recorded a barrier between compute shaders.
  void after_compute_barrier() { write_open(VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT); }
  void finish() { write_open(VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT); }
  // Call this before the command buffer records work that belongs to no time.
  void separate() {
    finish();
    last_.reset();
  }
  // Ends the recording. Makes room for the results where TimestampRules::copied; returns false if
  // there is no memory.
  bool reserve_results(HostPieces& memory);
  // Copies them in this command buffer, outside of render passes. Returns whether there are any.
  // Where none follows, as behind a suspended pass, vkGetQueryPoolResults reads them.
  bool copy_results(VkCommandBuffer command_buffer);
  // Call this before each submission that executes the recording.
  void before_submit() const;

  // Converts raw ticks to nanoseconds.
  struct Clock {
    double period_ns = 1;
    uint32_t valid_bits = 64;
  };
  // Returns the times by index; nullopt for one that was not measured.
  std::vector<std::optional<stream::GpuTime>> read(const Clock& clock,
                                                   vk::OwnFailure& failure) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Time {
    uint32_t begin = kNone;  // queries
    uint32_t end = kNone;
  };
  struct Result {
    uint64_t ticks = 0;
    uint64_t available = 0;
  };

  // Return the query, or kNone if there are none left.
  uint32_t write(VkCommandBuffer command_buffer, const TimestampPlace& place,
                 VkPipelineStageFlagBits stage = VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
  bool is_large(const TimestampPlace& place) const;
  uint32_t write_in_small_pass(VkCommandBuffer command_buffer);
  uint32_t take(VkCommandBuffer command_buffer, const TimestampPlace& place);
  void put(VkCommandBuffer command_buffer, VkPipelineStageFlagBits stage, uint32_t query) const;
  void write_open(VkPipelineStageFlagBits stage);
  uint32_t used_of(size_t chunk) const;
  std::vector<Result> results(vk::OwnFailure& failure) const;

  TimestampPools& pools_;
  const bool host_reset_;
  std::vector<VkQueryPool> chunks_;
  std::vector<HostPiece> copies_;     // of the results of each chunk
  std::atomic<bool> copied_ = false;  // a command buffer fills them
  uint32_t queries_ = 0;
  std::optional<uint32_t> last_;  // the query of the last timestamp, if no work has followed
  VkCommandBuffer open_ = VK_NULL_HANDLE;  // where that timestamp is still to be written
  std::vector<Time> times_;
};

}  // namespace tally::capture
