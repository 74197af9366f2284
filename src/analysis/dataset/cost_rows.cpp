#include "analysis/dataset/cost_rows.h"

#include <algorithm>
#include <utility>

namespace tally::analysis {

CostRows::CostRows(const std::vector<Metric>& metrics, const std::vector<bool>& counted)
    : metrics_(metrics),
      counted_(counted),
      row_(metrics.size()),
      costs_(metrics.size(), DataColumn(DataColumn::Kind::Number)),
      used_(metrics.size()) {}

void CostRows::begin_block(uint32_t block, std::vector<uint64_t> costs) {
  block_ = block;
  rest_ = std::move(costs);
}

void CostRows::add_line(const Place& place, const spirv::InstructionMix& mix) {
  for (size_t m = 0; m < metrics_.size(); ++m) {
    const bool by_class = metrics_[m].attribution == Attribution::ByClass;
    row_[m] = by_class ? mix[metrics_[m].cost_class] : 0;
    if (counted_[m]) continue;
    row_[m] = std::min(row_[m], rest_[m]);
    rest_[m] -= row_[m];
  }
  add_row(place, row_);
}

void CostRows::end_block(const Place& place, uint32_t rest) {
  std::vector<uint64_t> own(metrics_.size());
  for (size_t m = 0; m < metrics_.size(); ++m) {
    if (place.line != kNone && metrics_[m].attribution != Attribution::ByClass)
      own[m] = std::exchange(rest_[m], 0);
  }
  const auto has_costs = [](uint64_t cost) { return cost != 0; };
  if (std::ranges::any_of(own, has_costs)) add_row(place, own);
  if (std::ranges::any_of(rest_, has_costs)) add_row({kNone, place.function, rest}, rest_);
}

void CostRows::add_row(const Place& place, std::span<const uint64_t> costs) {
  blocks_.push_index(block_);
  lines_.push_index(place.line);
  functions_.push_index(place.function);
  instances_.push(place.instance);
  for (size_t m = 0; m < costs.size(); ++m) {
    costs_[m].push(costs[m]);
    if (costs[m] != 0) used_[m] = true;
  }
}

DataTable CostRows::finish() && {
  DataTable table("costs");
  table.add("block", DataColumn::Kind::Index) = std::move(blocks_);
  table.add("line", DataColumn::Kind::Index) = std::move(lines_);
  table.add("function", DataColumn::Kind::Index) = std::move(functions_);
  table.add("instance", DataColumn::Kind::Number) = std::move(instances_);
  for (size_t m = 0; m < metrics_.size(); ++m) {
    if (used_[m]) table.add(metrics_[m].id, DataColumn::Kind::Number) = std::move(costs_[m]);
  }
  return table;
}

}  // namespace tally::analysis
