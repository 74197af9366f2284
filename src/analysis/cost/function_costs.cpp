#include "analysis/cost/function_costs.h"

#include <algorithm>
#include <set>

#include "analysis/model/counts.h"

namespace tally::analysis {
namespace {

constexpr uint32_t kUnused = ~0u;

}  // namespace

FunctionTable::FunctionTable(const ShaderCode& code)
    : code_(code), by_source_function_(code.map.source_functions().size(), kUnused) {
  for (const spirv::MappedFunction& function : code.map.functions())
    by_function_.push_back(number_of(function.name));
  std::set<std::pair<uint32_t, uint32_t>> entered;  // function, instance
  for (uint32_t b = 0; b < code.map.blocks().size(); ++b) {
    const spirv::Block& block = code.map.blocks()[b];
    const auto enter = [&](uint32_t function, uint32_t instance) {
      if (entered.emplace(function, instance).second) entries_.emplace_back(b, function);
    };
    enter(function_of(block), block.function);
    for (const spirv::LineCost& line : code.map.lines_of(block)) {
      if (line.source_function < by_source_function_.size()) {
        uint32_t& number = by_source_function_[line.source_function];
        if (number == kUnused)
          number = number_of(code.map.source_functions()[line.source_function]);
      }
      const uint32_t function = function_of(block, line);
      enter(function, line.instance);
      if (code.is_countable(b)) find_place(function, line.location);
    }
  }
}

void FunctionTable::find_place(uint32_t function, const spirv::SourceLocation& location) {
  std::optional<spirv::SourceLocation>& first = places_[function];
  if (!first) first = location;
  if (first->file == location.file && location.line < first->line) first = location;
}

uint32_t FunctionTable::number_of(const std::string& name) {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) {
    names_.push_back(name);
    places_.emplace_back();
    return static_cast<uint32_t>(names_.size() - 1);
  }
  return static_cast<uint32_t>(found - names_.begin());
}

uint32_t FunctionTable::function_of(const spirv::Block& block) const {
  return by_function_[block.function];
}

uint32_t FunctionTable::function_of(const spirv::Block& block, const spirv::LineCost& line) const {
  return line.source_function < by_source_function_.size()
             ? by_source_function_[line.source_function]
             : function_of(block);
}

std::vector<uint64_t> FunctionTable::executions(uint32_t variant, const BlockTotals& totals) const {
  std::vector<uint64_t> executions(names_.size());
  for (const auto& [block, function] : entries_)
    executions[function] = saturating_sum(executions[function], totals.executions(variant, block));
  return executions;
}

std::vector<std::vector<uint64_t>> FunctionTable::values(uint32_t variant,
                                                         const BlockTotals& totals,
                                                         const std::vector<Metric>& metrics) const {
  std::vector<std::vector<uint64_t>> values(names_.size(), std::vector<uint64_t>(metrics.size()));
  const auto add = [&](uint32_t function, size_t metric, uint64_t value) {
    uint64_t& sum = values[function][metric];
    sum = saturating_sum(sum, value);
  };
  for (const auto& [block, function] : entries_) {
    for (size_t metric = 0; metric < metrics.size(); ++metric) {
      if (metrics[metric].attribution == Attribution::EveryLine)
        add(function, metric, totals.value(variant, block, metric));
    }
  }
  for (size_t index = 0; index < totals.block_count(variant); ++index) {
    const spirv::Block& block = code_.map.blocks()[index];
    for (size_t metric = 0; metric < metrics.size(); ++metric) {
      uint64_t rest = totals.value(variant, index, metric);
      switch (metrics[metric].attribution) {
        case Attribution::EveryLine:
          break;  // entries_
        case Attribution::ByClass:
          for (const spirv::LineCost& line : code_.map.lines_of(block)) {
            const uint64_t cost = line.mix[metrics[metric].cost_class];
            const uint64_t part =
                std::min(rest, saturating_product(totals.executions(variant, index), cost));
            add(function_of(block, line), metric, part);
            rest -= part;
          }
          [[fallthrough]];
        case Attribution::FirstLine:
          add(function_of(block), metric, rest);
          break;
      }
    }
  }
  return values;
}

}  // namespace tally::analysis
