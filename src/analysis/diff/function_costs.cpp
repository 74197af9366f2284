#include "analysis/diff/function_costs.h"

#include <algorithm>

#include "analysis/model/counts.h"

namespace tally::analysis {
namespace {

constexpr uint32_t kUnused = ~0u;

}  // namespace

FunctionTable::FunctionTable(const ShaderCode& code)
    : code_(code), by_source_function_(code.map.source_functions().size(), kUnused) {
  for (const spirv::MappedFunction& function : code.map.functions())
    by_function_.push_back(number_of(function.name));
  for (const spirv::Block& block : code.map.blocks()) {
    for (const spirv::LineCost& line : code.map.lines_of(block)) {
      if (line.source_function >= by_source_function_.size()) continue;
      uint32_t& number = by_source_function_[line.source_function];
      if (number == kUnused) number = number_of(code.map.source_functions()[line.source_function]);
    }
  }
}

uint32_t FunctionTable::number_of(const std::string& name) {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) {
    names_.push_back(name);
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

std::vector<uint32_t> FunctionTable::functions_in(const spirv::Block& block) const {
  std::vector<uint32_t> functions = {function_of(block)};
  for (const spirv::LineCost& line : code_.map.lines_of(block)) {
    const uint32_t function = function_of(block, line);
    if (std::ranges::find(functions, function) == functions.end()) functions.push_back(function);
  }
  return functions;
}

std::vector<std::vector<uint64_t>> FunctionTable::values(uint32_t variant,
                                                         const BlockTotals& totals,
                                                         const std::vector<Metric>& metrics) const {
  std::vector<std::vector<uint64_t>> values(names_.size(), std::vector<uint64_t>(metrics.size()));
  std::vector<bool> entered(names_.size());
  const auto add = [&](uint32_t function, size_t metric, uint64_t value) {
    uint64_t& sum = values[function][metric];
    sum = saturating_sum(sum, value);
  };
  for (size_t index = 0; index < totals.block_count(variant); ++index) {
    const spirv::Block& block = code_.map.blocks()[index];
    const std::vector<uint32_t> functions = functions_in(block);
    for (size_t metric = 0; metric < metrics.size(); ++metric) {
      uint64_t rest = totals.value(variant, index, metric);
      switch (metrics[metric].attribution) {
        case Attribution::EveryLine:
          for (const uint32_t function : functions)
            if (!entered[function]) add(function, metric, rest);
          break;
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
    for (const uint32_t function : functions) entered[function] = true;
  }
  return values;
}

}  // namespace tally::analysis
