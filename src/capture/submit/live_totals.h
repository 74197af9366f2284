// Totals of the process's Vulkan work, updated as submissions complete. The EGL library in the same
// process reads them (base/live_counters.h). One instance per process. Thread-safe.
//
// The layer measures and adds nothing for the totals until a reader asks for them. From then on,
// the totals also include what a receiver captures.
#pragma once

#include <tally/vulkan_arm.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/live_counters.h"
#include "capture/base/block_costs.h"

namespace tally::capture {

struct CommandSlice;
struct Execution;
struct Shader;

// The counters that every device has. The shader metrics of the devices follow them.
enum class LiveCounter : uint8_t {
  Submissions,
  RenderPasses,
  DrawCommands,
  Draws,
  Dispatches,
  RayTraces,
  CommandsNotCounted,
  GpuTime,
  VertexInvocations,
  TessellationControlInvocations,
  TessellationEvaluationInvocations,
  GeometryInvocations,
  FragmentInvocations,
  ComputeInvocations,
};
inline constexpr size_t kLiveCounterCount = 14;

// The sum over one submission.
class LiveSum {
 public:
  explicit LiveSum(const MetricLayout& layout) : layout_(layout), metrics_(layout.metrics.size()) {}

  void add_execution(const Execution& execution,
                     std::span<const std::optional<stream::GpuTime>> times);
  void add_commands(const Execution& execution, const CommandSlice& slice);

  const std::array<uint64_t, kLiveCounterCount>& counts() const { return counts_; }
  std::span<const uint64_t> metrics() const { return metrics_; }  // in the order of the device

 private:
  void add(LiveCounter counter, uint64_t value) { counts_[static_cast<size_t>(counter)] += value; }
  void add_block(const Shader* shader, uint32_t stage, uint32_t block,
                 std::span<const uint64_t> values);
  void add_static_costs(const Shader& shader, uint32_t block, uint64_t executions);

  const MetricLayout& layout_;
  std::array<uint64_t, kLiveCounterCount> counts_{1};  // the submission itself
  std::vector<uint64_t> metrics_;
};

class LiveTotals {
 public:
  static LiveTotals& instance();

  // Registers the metrics of a device. Returns the place of each metric, for add().
  std::vector<uint32_t> list(const MetricLayout& layout);
  void add(const LiveSum& sum, std::span<const uint32_t> places);

  void request(bool enable) { requests_.fetch_add(enable ? 1 : -1, std::memory_order_relaxed); }
  bool requested() const { return requests_.load(std::memory_order_relaxed) > 0; }

  void swapchain_created() { presents_.store(true, std::memory_order_relaxed); }
  bool presents() const { return presents_.load(std::memory_order_relaxed); }

  uint32_t count() const;
  bool describe(uint32_t counter, TallyLiveCounter& description) const;
  void read(std::span<uint64_t> values) const;

 private:
  std::atomic<int> requests_ = 0;
  std::atomic<bool> presents_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> metrics_;  // after the fixed counters
  std::vector<uint64_t> values_;      // empty until there is a device
};

}  // namespace tally::capture
