#include "counters/instrumentation/instrumented_record.h"

namespace tally::counters {

Status RecordReader::read(const Program& program, const StageProgram& stage,
                          std::span<const uint64_t> record, uint32_t shards_log2,
                          std::vector<std::string>* findings) {
  const spirv::CounterPlan& plan = stage.info->plan;
  const probe::StageCounters place = program.counters(stage);
  const size_t first = probe::counter_index(place, 0, 0);
  // The counters of small work need no sum.
  if (shards_log2 == 0 && !findings && first + plan.counter_count <= record.size()) {
    plan.derive(record.subspan(first, plan.counter_count), values_, counts_);
    return {};
  }
  sums_.resize(plan.counter_count);
  if (!probe::sum_shards(record, place, shards_log2, sums_)) {
    return Error{"internal error: a record is shorter than its program"};
  }
  if (findings) {
    for (std::string& finding : plan.verify(sums_)) findings->push_back(std::move(finding));
  }
  plan.derive(sums_, values_, counts_);
  return {};
}

}  // namespace tally::counters
