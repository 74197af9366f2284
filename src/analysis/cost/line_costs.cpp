#include "analysis/cost/line_costs.h"

#include <algorithm>
#include <map>

#include "analysis/model/counts.h"

namespace tally::analysis {
namespace {

using Place = std::pair<uint32_t, uint32_t>;  // file, line
constexpr Place kNoLine{0, 0};

class CostAttribution {
 public:
  CostAttribution(const ShaderCode& code, const spirv::BlockMap& map, uint32_t variant,
                  const BlockTotals& totals, const std::vector<Metric>& metrics)
      : code_(code), map_(map), variant_(variant), totals_(totals), metrics_(metrics) {}

  std::vector<LineValues> run() {
    for (size_t block = 0; block < map_.blocks().size(); ++block) {
      if (!code_.is_countable(block)) continue;
      for (const spirv::LineCost& line : map_.lines_of(map_.blocks()[block]))
        values_at(place_of(line.location));
      const bool executed =
          block < totals_.block_count(variant_) && totals_.executions(variant_, block) != 0;
      if (!executed) continue;
      for (const spirv::LineCost& line : map_.lines_of(map_.blocks()[block]))
        note_block(place_of(line.location), block);
      for (size_t metric = 0; metric < metrics_.size(); ++metric) attribute(block, metric);
    }
    std::vector<LineValues> result;
    for (auto& [place, values] : lines_) {
      result.push_back({{place.first, place.second, 0}, std::move(values)});
    }
    return result;
  }

 private:
  void attribute(size_t index, size_t metric) {
    const spirv::Block& block = map_.blocks()[index];
    const uint64_t total = totals_.value(variant_, index, metric);
    switch (metrics_[metric].attribution) {
      case Attribution::ByClass:
        attribute_by_class(index, block, metric, total);
        break;
      case Attribution::EveryLine:
        break;  // note_block
      case Attribution::FirstLine:
        if (block.location) add(place_of(block.location), metric, total);
        if (!block.location && total != 0) add_without_line(index, metric, total);
        break;
    }
  }

  void attribute_by_class(size_t index, const spirv::Block& block, size_t metric, uint64_t total) {
    uint64_t rest = total;
    for (const spirv::LineCost& line : map_.lines_of(block)) {
      const uint64_t cost = line.mix[metrics_[metric].cost_class];
      const uint64_t part =
          std::min(rest, saturating_product(totals_.executions(variant_, index), cost));
      add(place_of(line.location), metric, part);
      rest -= part;
    }
    if (rest != 0) add_without_line(index, metric, rest);
  }

  // Adds a value to the instructions without a line.
  void add_without_line(size_t index, size_t metric, uint64_t value) {
    add(kNoLine, metric, value);
    note_block(kNoLine, index);
  }

  // Gives the line what says how often the block ran, if no other block of the line ran as often.
  void note_block(const Place& place, size_t index) {
    uint64_t& most = most_executed_[place];
    const uint64_t executions = totals_.executions(variant_, index);
    if (executions <= most) return;
    most = executions;
    std::vector<uint64_t>& values = values_at(place);
    for (size_t m = 0; m < metrics_.size(); ++m) {
      if (metrics_[m].attribution != Attribution::EveryLine) continue;
      values[m] = totals_.value(variant_, index, m);
    }
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

  static Place place_of(const std::optional<spirv::SourceLocation>& location) {
    return location ? Place{location->file, location->line} : kNoLine;
  }

  const ShaderCode& code_;
  const spirv::BlockMap& map_;
  uint32_t variant_;
  const BlockTotals& totals_;
  const std::vector<Metric>& metrics_;
  std::map<Place, std::vector<uint64_t>> lines_;
  std::map<Place, uint64_t> most_executed_;  // executions of the line's most executed block
};

}  // namespace

std::vector<LineValues> line_values(const ShaderCode& code, const spirv::BlockMap& lines,
                                    uint32_t variant, const BlockTotals& totals,
                                    const std::vector<Metric>& metrics) {
  return CostAttribution(code, lines, variant, totals, metrics).run();
}

std::vector<LineValues> line_values(const ShaderCode& code, uint32_t variant,
                                    const BlockTotals& totals, const std::vector<Metric>& metrics) {
  return line_values(code, code.map, variant, totals, metrics);
}

std::vector<uint64_t> instruction_values(const spirv::Module& module,
                                         const spirv::Instruction& instruction, uint32_t variant,
                                         size_t block, const BlockTotals& totals,
                                         const std::vector<Metric>& metrics) {
  const bool ran = block < totals.block_count(variant);
  const uint64_t executions = ran ? totals.executions(variant, block) : 0;
  const spirv::InstructionMix mix = spirv::cost_of(module, instruction);
  std::vector<uint64_t> values;
  for (size_t m = 0; m < metrics.size(); ++m) {
    switch (metrics[m].attribution) {
      case Attribution::ByClass:
        values.push_back(saturating_product(executions, mix[metrics[m].cost_class]));
        break;
      case Attribution::EveryLine:
        values.push_back(ran ? totals.value(variant, block, m) : 0);
        break;
      case Attribution::FirstLine:
        values.push_back(0);
        break;
    }
  }
  return values;
}

}  // namespace tally::analysis
