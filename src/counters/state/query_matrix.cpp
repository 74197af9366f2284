#include "counters/state/query_matrix.h"

#include <algorithm>

namespace tally::counters {
namespace {

using Row = std::span<uint32_t>;
using Factors = std::vector<std::vector<uint32_t>>;

void add(Row row, const Factors& factors, uint32_t value, uint32_t times) {
  if (value >= factors.size() || times == 0) return;
  for (size_t i = 0; i < row.size(); ++i) row[i] += factors[value][i] * times;
}

void add_outputs(Row row, const StageProgram& stage, const Factors& factors,
                 const QuerySource& source, uint32_t queried) {
  const auto& counters = stage.info->plan.output_counters;
  switch (source.streams) {
    case QuerySource::Streams::All:
      for (const uint32_t counter : counters) add(row, factors, counter, 1);
      break;
    case QuerySource::Streams::Rasterized:
      if (stage.rasterized_stream < counters.size())
        add(row, factors, counters[stage.rasterized_stream], 1);
      break;
    case QuerySource::Streams::Queried:
      if (queried < counters.size()) add(row, factors, counters[queried], 1);
      break;
    case QuerySource::Streams::One:
      add(row, factors, counters.at(source.stream), 1);
      break;
  }
}

void add_source(Row row, const StageProgram& stage, const Factors& factors,
                const QuerySource& source, uint32_t stream) {
  const StageInfo& info = *stage.info;
  const spirv::CounterPlan& plan = info.plan;
  switch (source.kind) {
    case QuerySource::Kind::Invocations:
      add(row, factors, plan.block_values[info.entry_block], 1);
      break;
    case QuerySource::Kind::Subgroups:
      if (!plan.subgroup_counters.empty()) {
        add(row, factors, plan.subgroup_counters[info.entry_block], 1);
      }
      break;
    case QuerySource::Kind::Cost:
      for (size_t block = 0; block < info.blocks.size(); ++block) {
        add(row, factors, plan.block_values[block],
            static_cast<uint32_t>(info.blocks[block][source.cost]));
      }
      break;
    case QuerySource::Kind::Samples:
    case QuerySource::Kind::Primitives:
      add_outputs(row, stage, factors, source, stream);
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
  const Factors factors = info.plan.factors();
  const size_t counters = info.plan.counter_count;
  std::vector<uint32_t> matrix(rows.size() * counters);
  for (size_t row = 0; row < rows.size(); ++row) {
    for (const QuerySource& source : rows[row]) {
      if ((source.stages & stage.stage) == 0) continue;
      add_source(Row(matrix).subspan(row * counters, counters), stage, factors, source, stream);
    }
  }
  const bool any = std::ranges::any_of(matrix, [](uint32_t factor) { return factor != 0; });
  return any ? matrix : std::vector<uint32_t>{};
}

}  // namespace tally::counters
