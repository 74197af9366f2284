// Metric blocks of VK_ARM_shader_instrumentation made small: most metrics of a block are its
// executions times a constant. The constants are learned from the first values and sent once;
// whatever a later value is that does not fit is sent as it is. So nothing is assumed about the
// driver, and nothing is lost.
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
  std::optional<size_t>
      executions;  // position of the metric by that name, upper and lower case alike

  void find_executions();
  size_t values() const { return metrics.size(); }
  size_t block_bytes() const;
};

// What is known of one shader's blocks. Not thread-safe.
class BlockCosts {
 public:
  // Costs of the blocks first, first+1, ...
  struct Update {
    uint32_t first_block = 0;
    std::vector<uint64_t> costs;
  };

  // The cost of each metric for one execution of `block`, learned from `values` if it is not known
  // yet. Empty when the block has not been executed so far, or is beyond what is remembered.
  std::span<const uint64_t> costs_of(uint32_t block, uint64_t executions,
                                     std::span<const uint64_t> values);

  // What was learned since the last call.
  std::vector<Update> take_updates();

 private:
  static constexpr uint32_t kMaxBlocks = 1u << 20;

  std::vector<std::vector<uint64_t>> costs_;  // by block; empty = unknown
  std::vector<Update> updates_;
};

}  // namespace tally::capture
