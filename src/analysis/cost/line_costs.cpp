#include "analysis/cost/line_costs.h"

#include <algorithm>
#include <set>

#include "analysis/model/counts.h"

namespace tally::analysis {
namespace {

using Place = std::pair<uint32_t, uint32_t>;  // file, line
constexpr Place kNoLine{0, 0};

Place place_of(const spirv::SourceLocation& location) { return {location.file, location.line}; }

// Gives a line of an instance this block, if none that it has ran as often.
void note_block(std::map<LineInstance, uint32_t>& blocks, const Place& place, uint32_t instance,
                uint32_t block, uint32_t variant, const BlockTotals& totals) {
  const auto [most, is_new] = blocks.try_emplace({place.first, place.second, instance}, block);
  if (totals.executions(variant, block) > totals.executions(variant, most->second))
    most->second = block;
}

class CostAttribution {
 public:
  CostAttribution(const ShaderCode& code, const spirv::BlockMap& map, uint32_t variant,
                  const BlockTotals& totals, const std::vector<Metric>& metrics)
      : map_(map),
        variant_(variant),
        totals_(totals),
        metrics_(metrics),
        most_executed_(most_executed_blocks(code, map, variant, totals)) {}

  std::vector<LineValues> run() {
    for (const auto& [line, block] : most_executed_) values_at(place_of(line));
    for (uint32_t block = 0; block < map_.blocks().size(); ++block) {
      if (totals_.executions(variant_, block) == 0) continue;
      for (size_t metric = 0; metric < metrics_.size(); ++metric) attribute(block, metric);
    }
    for (const auto& [line, block] : most_executed_) {
      if (totals_.executions(variant_, block) == 0) continue;
      for (size_t m = 0; m < metrics_.size(); ++m) {
        if (metrics_[m].attribution == Attribution::EveryLine)
          add(place_of(line), m, totals_.value(variant_, block, m));
      }
    }
    std::vector<LineValues> result;
    for (auto& [place, values] : lines_) {
      result.push_back({{place.first, place.second, 0}, std::move(values)});
    }
    return result;
  }

 private:
  void attribute(uint32_t index, size_t metric) {
    const spirv::Block& block = map_.blocks()[index];
    const uint64_t total = totals_.value(variant_, index, metric);
    switch (metrics_[metric].attribution) {
      case Attribution::ByClass:
        attribute_by_class(index, block, metric, total);
        break;
      case Attribution::EveryLine:
        break;  // most_executed_
      case Attribution::FirstLine:
        if (block.location) add(analysis::place_of(*block.location), metric, total);
        if (!block.location && total != 0) add_without_line(index, metric, total);
        break;
    }
  }

  void attribute_by_class(uint32_t index, const spirv::Block& block, size_t metric,
                          uint64_t total) {
    const uint64_t rest =
        split_over_lines(metrics_[metric], map_, block, totals_.executions(variant_, index), total,
                         [&](const spirv::LineCost& line, uint64_t part) {
                           add(analysis::place_of(line.location), metric, part);
                         });
    if (rest != 0) add_without_line(index, metric, rest);
  }

  // Adds a value to the instructions without a line.
  void add_without_line(uint32_t index, size_t metric, uint64_t value) {
    add(kNoLine, metric, value);
    note_block(most_executed_, kNoLine, map_.blocks()[index].function, index, variant_, totals_);
  }

  void add(const Place& place, size_t metric, uint64_t value) {
    if (value == 0) return;
    uint64_t& sum = values_at(place)[metric];
    sum = saturating_sum(sum, value);
  }

  std::vector<uint64_t>& values_at(const Place& place) {
    auto& values = lines_[place];
    values.resize(metrics_.size());
    return values;
  }

  static Place place_of(const LineInstance& line) { return {std::get<0>(line), std::get<1>(line)}; }

  const spirv::BlockMap& map_;
  uint32_t variant_;
  const BlockTotals& totals_;
  const std::vector<Metric>& metrics_;
  std::map<LineInstance, uint32_t> most_executed_;
  std::map<Place, std::vector<uint64_t>> lines_;
};

}  // namespace

std::map<LineInstance, uint32_t> most_executed_blocks(const ShaderCode& code,
                                                      const spirv::BlockMap& lines,
                                                      uint32_t variant, const BlockTotals& totals) {
  std::map<LineInstance, uint32_t> blocks;
  for (uint32_t block = 0; block < lines.blocks().size(); ++block) {
    if (!code.is_countable(block)) continue;
    for (const spirv::LineCost& line : lines.lines_of(lines.blocks()[block]))
      note_block(blocks, place_of(line.location), line.instance, block, variant, totals);
  }
  return blocks;
}

std::vector<LineValues> line_values(const ShaderCode& code, const spirv::BlockMap& lines,
                                    uint32_t variant, const BlockTotals& totals,
                                    const std::vector<Metric>& metrics) {
  return CostAttribution(code, lines, variant, totals, metrics).run();
}

std::vector<LineValues> line_values(const ShaderCode& code, uint32_t variant,
                                    const BlockTotals& totals, const std::vector<Metric>& metrics) {
  return line_values(code, code.map, variant, totals, metrics);
}

std::vector<uint64_t> instruction_values(const spirv::CostModel& model, const ShaderCode& code,
                                         size_t instruction, uint32_t variant, size_t block,
                                         const BlockTotals& totals,
                                         const std::vector<Metric>& metrics) {
  const uint64_t executions = totals.executions(variant, block);
  spirv::InstructionMix mix, compiled;
  model.add(code.module.instruction(instruction), mix);
  model.add_compiled(code.module.instruction(instruction), code.map.residue(instruction), compiled);
  std::vector<uint64_t> values;
  for (size_t m = 0; m < metrics.size(); ++m) {
    switch (metrics[m].attribution) {
      case Attribution::ByClass:
        values.push_back(saturating_product(executions, static_cost(metrics[m], mix, compiled)));
        break;
      case Attribution::EveryLine:
        values.push_back(totals.value(variant, block, m));
        break;
      case Attribution::FirstLine:
        values.push_back(0);
        break;
    }
  }
  return values;
}

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
  const auto [found, is_new] =
      number_of_name_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back(name);
    places_.emplace_back();
  }
  return found->second;
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
          rest =
              split_over_lines(metrics[metric], code_.map, block, totals.executions(variant, index),
                               rest, [&](const spirv::LineCost& line, uint64_t part) {
                                 add(function_of(block, line), metric, part);
                               });
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
