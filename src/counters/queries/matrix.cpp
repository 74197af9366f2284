#include "counters/queries/matrix.h"

#include <algorithm>
#include <utility>

namespace tally::counters {
namespace {

using Weights = std::span<uint32_t>;  // by value of the counter plan

void add(Weights weights, uint32_t value, uint32_t times) {
  if (value < weights.size()) weights[value] += times;
}

void add_outputs(Weights weights, const StageProgram& stage, const QuerySource& source,
                 uint32_t queried) {
  const auto& counters = stage.info->plan.output_counters;
  switch (source.streams) {
    case QuerySource::Streams::All:
      for (const uint32_t counter : counters) add(weights, counter, 1);
      break;
    case QuerySource::Streams::Rasterized:
      if (stage.rasterized_stream < counters.size())
        add(weights, counters[stage.rasterized_stream], 1);
      break;
    case QuerySource::Streams::Queried:
      if (queried < counters.size()) add(weights, counters[queried], 1);
      break;
    case QuerySource::Streams::One:
      add(weights, counters.at(source.stream), 1);
      break;
  }
}

void add_source(Weights weights, const StageProgram& stage, const QuerySource& source,
                uint32_t stream) {
  const StageInfo& info = *stage.info;
  const spirv::CounterPlan& plan = info.plan;
  switch (source.kind) {
    case QuerySource::Kind::Invocations:
      add(weights, plan.block_values[info.entry_block], 1);
      break;
    case QuerySource::Kind::Subgroups:
      if (!plan.subgroup_values.empty()) {
        add(weights, plan.subgroup_values[info.entry_block], 1);
      }
      break;
    case QuerySource::Kind::Cost:
      for (size_t block = 0; block < info.blocks.size(); ++block) {
        add(weights, plan.block_values[block],
            static_cast<uint32_t>(info.blocks[block][source.cost]));
      }
      break;
    case QuerySource::Kind::Samples:
    case QuerySource::Kind::Primitives:
      add_outputs(weights, stage, source, stream);
      break;
    case QuerySource::Kind::Command:
    case QuerySource::Kind::Time:
    case QuerySource::Kind::Marker:
    case QuerySource::Kind::StreamMarker:
    case QuerySource::Kind::HasMarkers:
      break;
  }
}

}  // namespace

std::vector<uint32_t> query_matrix(const StageProgram& stage, const std::vector<QueryRow>& rows,
                                   uint32_t stream) {
  const StageInfo& info = *stage.info;
  const size_t counters = info.plan.counter_count;
  std::vector<uint32_t> matrix(rows.size() * counters);
  for (size_t row = 0; row < rows.size(); ++row) {
    std::vector<uint32_t> weights(info.plan.value_count());
    for (const QuerySource& source : rows[row]) {
      if ((source.stages & stage.stage) != 0) add_source(weights, stage, source, stream);
    }
    std::ranges::copy(info.plan.factors(std::move(weights)), matrix.begin() + row * counters);
  }
  const bool any = std::ranges::any_of(matrix, [](uint32_t factor) { return factor != 0; });
  return any ? matrix : std::vector<uint32_t>{};
}

}  // namespace tally::counters
