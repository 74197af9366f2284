// The metrics of a device's blocks, and their costs: most metrics of a block equal its number of
// executions times a constant. Only executions are sent, and each constant (cost) once.
//
// VK_LAYER_TALLY_counters can leave these metrics out (its setting static_costs). The capture
// then adds them: the costs follow from the SPIR-V. Nothing is assumed of any other implementation:
// the costs are learned from the first values, and a later value that does not match is sent
// unchanged. So nothing is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spirv/analysis/cost.h"
#include "store/stream/stream.h"

namespace tally::capture {

namespace stream = store::stream;

inline constexpr const char* kExecutionsMetric = "executions";

// A static cost of a block, where it is not 0.
struct BlockCost {
  uint32_t block = 0;
  spirv::CostClass cost{};
  uint32_t per_execution = 0;
};

struct MetricLayout {
  std::vector<stream::Metric> metrics;  // of the capture
  // The metrics that the device returns, in its order, as indices of `metrics`.
  std::vector<uint32_t> returned;
  // The metrics that the capture adds, by cost class. Empty: costs are learned.
  std::vector<uint32_t> added;
  std::optional<size_t> executions;  // index in `returned`, by name, case-insensitive

  // `metrics` are those that the device returns.
  static MetricLayout of(std::vector<stream::Metric> metrics);

  size_t values() const { return returned.size(); }
  size_t block_bytes() const;
  // The metrics of one execution of a block of which `costs` are known, in the order of `metrics`.
  std::vector<uint64_t> costs_of(std::span<const BlockCost> costs) const;
};

// The known facts about the blocks of one shader. Not thread-safe.
class BlockCosts {
 public:
  struct Update {
    uint32_t block = 0;
    std::vector<uint64_t> costs;  // in the order of MetricLayout::metrics
  };

  // Returns the cost of each returned metric for one execution of `block`. Learns it from `values`
  // if it is unknown. Empty if the block has not been executed so far, or if its index is above the
  // limit.
  std::span<const uint64_t> learn(uint32_t block, uint64_t executions,
                                  std::span<const uint64_t> values);
  // Adds the costs of all blocks, at the first call. `known` ascends by block.
  void add(const MetricLayout& layout, std::span<const BlockCost> known);

  // Returns the costs learned or added since the last call.
  std::vector<Update> take_updates();

 private:
  static constexpr uint32_t kMaxBlocks = 1u << 20;

  std::vector<std::vector<uint64_t>> learned_;  // by block; empty = unknown
  bool added_ = false;
  std::vector<Update> updates_;
};

}  // namespace tally::capture
