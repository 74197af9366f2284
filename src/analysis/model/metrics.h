// The metrics of a capture as a report names them: those of Tally's catalogue with their unit, any
// others (of a driver that has the extension itself) as counts under a name of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/model/model.h"
#include "spirv/analysis/cost.h"

namespace tally::analysis {

enum class Unit { None, Count, Nanoseconds, Bytes, Percent };

// How a metric's value of a block is divided among the source lines of the block.
enum class Division {
  ByClass,     // by each line's static cost of a class
  Everywhere,  // every line of the block has the block's value: how often it ran
  Unknown,     // the block's first line has it all
};

struct Metric {
  std::string id;  // unique in the capture, lower case, fit for --sort and JSON
  std::string title;
  std::string description;
  Unit unit = Unit::Count;
  Division division = Division::Unknown;
  spirv::CostClass cost_class = spirv::CostClass::Instruction;
};

// In the order of Model::metrics.
std::vector<Metric> describe_metrics(const Model& model);

// The metric that tables are sorted by where nobody says otherwise: instructions, else the first.
uint32_t default_metric(const std::vector<Metric>& metrics);

// The metric that counts executions, or kNone.
uint32_t executions_metric(const std::vector<Metric>& metrics);

// In the order of Model::region_counters.
std::vector<Metric> describe_region_counters(const Model& model);
// The counter that regions are compared by where nobody says otherwise.
uint32_t default_region_counter(const std::vector<Metric>& counters);

}  // namespace tally::analysis
