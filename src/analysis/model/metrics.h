// The metrics of a capture, as a report names them. Metrics of Tally's catalogue have a unit. Other
// metrics, of a driver that implements the extension itself, are counts under their own name.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/device_model.h"
#include "analysis/model/model.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/cost.h"

namespace tally::analysis {

enum class Unit { None, Count, Nanoseconds, Bytes, Percent };

// How a block's value of a metric is attributed to the source lines of the block.
enum class Attribution {
  ByClass,    // each line gets its static cost (static_cost), times the executions
  EveryLine,  // a line gets the value of the most executed of its blocks
  FirstLine,  // the block's first line gets the whole value
};

struct Metric {
  std::string id;  // unique in the capture, lower case; used by --sort and JSON
  std::string title;
  std::string description;
  Unit unit = Unit::Count;
  Attribution attribution = Attribution::FirstLine;
  spirv::CostClass cost_class = spirv::CostClass::Instruction;
  std::shared_ptr<const DeviceCosts> device;  // of the metric `cost`, which sums up all classes
};

// The cost of one execution of some code in a metric with Attribution::ByClass. `compiled`: its
// costs once compiled (BlockMap::kept).
uint64_t static_cost(const Metric& metric, const spirv::InstructionMix& mix,
                     const spirv::InstructionMix& compiled);

// Splits a block's value of such a metric over its lines: visit(line, part) for each. Returns the
// rest, which belongs to instructions without a line.
template <typename Visit>
uint64_t split_over_lines(const Metric& metric, const spirv::BlockMap& map,
                          const spirv::Block& block, uint64_t executions, uint64_t value,
                          Visit&& visit) {
  for (const spirv::LineCost& line : map.lines_of(block)) {
    const uint64_t cost = static_cost(metric, line.mix, map.kept(line));
    const bool overflows = cost != 0 && executions > value / cost;
    const uint64_t part = overflows ? value : executions * cost;
    visit(line, part);
    value -= part;
  }
  return value;
}

// The counter of Tally's catalogue that is the metric, or null. The description matters: a driver's
// metric may have the same name by chance.
const catalogue::Counter* counter_for(const store::MetricRow& row);

// In the order of Model::metrics.
std::vector<Metric> describe_metrics(const Model& model);

// The metric that tables are sorted by unless the user selects another: cost, else the first.
uint32_t default_metric(const std::vector<Metric>& metrics);

// The ids of the metrics that tables show by default where they are not all zero, the most
// informative first.
std::span<const std::string_view> preferred_metrics();

// Nullopt: there is none.
std::optional<size_t> find_metric(const std::vector<Metric>& metrics, std::string_view id);
uint32_t executions_metric(const std::vector<Metric>& metrics);

// In the order of Model::region_counters.
std::vector<Metric> describe_region_counters(const Model& model);
// The counter that regions are compared by unless the user selects another.
uint32_t default_region_counter(const std::vector<Metric>& counters);

}  // namespace tally::analysis
