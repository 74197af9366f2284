#include "counters/shader/metrics.h"

namespace tally::counters {

std::vector<Metric> block_metrics(const MetricChoice& choice) {
  std::vector<Metric> metrics;
  for (const catalogue::Counter* counter : catalogue::counters_of(catalogue::Scope::Block)) {
    if (counter->number == catalogue::Number::Executions) {
      metrics.push_back({counter, Metric::Kind::Executions});
    } else if (counter->number == catalogue::Number::Subgroups) {
      if (choice.subgroups) metrics.push_back({counter, Metric::Kind::Subgroups});
    } else if (counter->number == catalogue::Number::SubgroupLanes) {
      if (choice.subgroups) metrics.push_back({counter, Metric::Kind::Lanes});
    } else if (const auto cost = spirv::cost_class_of(counter->number)) {
      if (choice.static_costs) metrics.push_back({counter, Metric::Kind::Cost, *cost});
    }
  }
  if (!choice.branches) return metrics;
  for (const catalogue::Counter* counter : catalogue::counters_of(catalogue::Scope::Branch)) {
    metrics.push_back({.counter = counter,
                       .kind = Metric::Kind::Branch,
                       .target = static_cast<uint32_t>(counter->number) -
                                 static_cast<uint32_t>(catalogue::Number::BranchTarget0)});
  }
  return metrics;
}

}  // namespace tally::counters
