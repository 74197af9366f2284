#include "counters/shader/metrics.h"

namespace tally::counters {

std::vector<Metric> block_metrics(bool subgroups, bool static_costs) {
  std::vector<Metric> metrics;
  for (const catalogue::Counter* counter : catalogue::counters_of(catalogue::Scope::Block)) {
    if (counter->number == catalogue::Number::Executions) {
      metrics.push_back({counter, Metric::Kind::Executions});
    } else if (counter->number == catalogue::Number::Subgroups) {
      if (subgroups) metrics.push_back({counter, Metric::Kind::Subgroups});
    } else if (const auto cost = spirv::cost_class_of(counter->number)) {
      if (static_costs) metrics.push_back({counter, Metric::Kind::Cost, *cost});
    }
  }
  return metrics;
}

}  // namespace tally::counters
