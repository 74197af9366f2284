#include "analysis/model/metrics.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "catalogue/catalogue.h"

namespace tally::analysis {
namespace {

// "Fragment warps" -> "fragment_warps".
std::string id_of(const std::string& name) {
  std::string id;
  for (const unsigned char c : name) {
    if (std::isalnum(c)) {
      id += static_cast<char>(std::tolower(c));
    } else if (!id.empty() && id.back() != '_') {
      id += '_';
    }
  }
  while (id.ends_with('_')) id.pop_back();
  return id.empty() ? "metric" : id;
}

// "Executions" -> "executions", in the style of the other columns.
std::string in_lower_case(std::string title) {
  if (!title.empty())
    title[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(title[0])));
  return title;
}

Unit unit_of(catalogue::Unit unit) {
  switch (unit) {
    case catalogue::Unit::Nanoseconds:
      return Unit::Nanoseconds;
    case catalogue::Unit::Bytes:
      return Unit::Bytes;
    case catalogue::Unit::Percentage:
      return Unit::Percent;
    default:
      return Unit::Count;
  }
}

void set_attribution(Metric& metric, catalogue::Number number) {
  if (number == catalogue::Number::Executions || number == catalogue::Number::Subgroups ||
      number == catalogue::Number::SubgroupLanes) {
    metric.attribution = Attribution::EveryLine;
    return;
  }
  if (const auto cost_class = spirv::cost_class_of(number)) {
    metric.attribution = Attribution::ByClass;
    metric.cost_class = *cost_class;
  }
}

Metric describe(const store::MetricRow& row) {
  Metric metric{.id = id_of(row.name), .title = row.name, .description = row.description};
  if (const catalogue::Counter* counter = counter_for(row)) {
    metric.id = counter->id;
    metric.title = in_lower_case(std::string(counter->name));
    metric.unit = unit_of(counter->unit);
    set_attribution(metric, counter->number);
  }
  return metric;
}

// Region counters have no description, so a driver's own counter of the same name cannot be
// recognized.
Metric describe(const store::RegionCounterRow& row) {
  Metric metric{.id = id_of(row.name), .title = row.name, .description = row.name};
  for (const catalogue::Counter* counter : catalogue::counters_of(catalogue::Scope::Region)) {
    if (row.name != counter->name) continue;
    metric.id = counter->id;
    metric.title = in_lower_case(std::string(counter->name));
    metric.description = counter->description;
    metric.unit = unit_of(counter->unit);
  }
  return metric;
}

template <typename Row>
std::vector<Metric> describe_all(const std::vector<Row>& rows) {
  std::vector<Metric> metrics;
  std::set<std::string> taken;
  std::map<std::string, int> last_number;  // by the id without a number
  for (const Row& row : rows) {
    Metric metric = describe(row);
    const std::string id = metric.id;
    int& n = last_number.try_emplace(id, 1).first->second;
    while (!taken.insert(metric.id).second) metric.id = id + "_" + std::to_string(++n);
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace

const catalogue::Counter* counter_for(const store::MetricRow& row) {
  for (const catalogue::Counter& counter : catalogue::counters()) {
    if ((row.name == counter.name || row.name == counter.id) &&
        row.description == counter.description)
      return &counter;
  }
  return nullptr;
}

std::vector<Metric> describe_metrics(const Model& model) {
  std::vector<Metric> metrics = describe_all(model.metrics);
  if (model.subgroup_executions != kNone) {
    metrics[model.subgroup_executions].attribution = Attribution::EveryLine;
  }
  if (model.cost != kNone) {
    metrics[model.cost].attribution = Attribution::ByClass;
    metrics[model.cost].device = model.device;
  }
  return metrics;
}

uint64_t static_cost(const Metric& metric, const spirv::InstructionMix& mix,
                     const spirv::InstructionMix& compiled) {
  return metric.device ? metric.device->cost_of(compiled) : mix[metric.cost_class];
}

std::vector<Metric> describe_region_counters(const Model& model) {
  return describe_all(model.region_counters);
}

uint32_t default_metric(const std::vector<Metric>& metrics) {
  for (uint32_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].device) return i;
  }
  return 0;
}

// Work that few programs have comes first: where it is there, it is what they are about.
std::span<const std::string_view> preferred_metrics() {
  static constexpr std::string_view kIds[] = {"cost",
                                              "instructions",
                                              "matrix_multiply_adds",
                                              "ray_traversals",
                                              "fma",
                                              "int8",
                                              "float64",
                                              "special_function",
                                              "texture_samples",
                                              "image_loads",
                                              "image_stores",
                                              "buffer_bytes_loaded",
                                              "buffer_bytes_stored",
                                              "atomics"};
  return kIds;
}

std::optional<size_t> find_metric(const std::vector<Metric>& metrics, std::string_view id) {
  const auto found = std::ranges::find(metrics, id, &Metric::id);
  if (found == metrics.end()) return std::nullopt;
  return static_cast<size_t>(found - metrics.begin());
}

uint32_t executions_metric(const std::vector<Metric>& metrics) {
  return static_cast<uint32_t>(find_metric(metrics, "executions").value_or(kNone));
}

uint32_t default_region_counter(const std::vector<Metric>& counters) {
  for (const char* id : {"fragment_instructions", "fragment_invocations"}) {
    for (uint32_t i = 0; i < counters.size(); ++i) {
      if (counters[i].id == id) return i;
    }
  }
  return 0;
}

}  // namespace tally::analysis
