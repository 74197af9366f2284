// Compresses the metric blocks of VK_ARM_shader_instrumentation. Most metrics of a block equal its
// number of executions times a constant. The constants (costs) are learned from the first values
// and sent once. A later value that does not match is sent unchanged. So nothing is assumed about
// the driver, and nothing is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/stream.h"

namespace tally::capture {

namespace stream = store::stream;

inline constexpr const char* kExecutionsMetric = "executions";

// How a device lays out a metric block.
struct MetricLayout {
  std::vector<stream::Metric> metrics;
  std::optional<size_t> executions;  // index of the metric with that name, case-insensitive

  void find_executions();
  size_t values() const { return metrics.size(); }
  size_t block_bytes() const;
};

// What is known about the blocks of one shader. Not thread-safe.
class BlockCosts {
 public:
  // Costs of the blocks first_block, first_block + 1, ...
  struct Update {
    uint32_t first_block = 0;
    std::vector<uint64_t> costs;
  };

  // Returns the cost of each metric for one execution of `block`. Learns it from `values` if it is
  // unknown. Empty if the block has not been executed so far, or if its index is above the limit.
  std::span<const uint64_t> costs_of(uint32_t block, uint64_t executions,
                                     std::span<const uint64_t> values);

  // Returns the costs learned since the last call.
  std::vector<Update> take_updates();

 private:
  static constexpr uint32_t kMaxBlocks = 1u << 20;

  std::vector<std::vector<uint64_t>> costs_;  // by block; empty = unknown
  std::vector<Update> updates_;
};

}  // namespace tally::capture
