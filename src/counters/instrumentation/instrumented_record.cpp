#include "counters/instrumentation/instrumented_record.h"

namespace tally::counters {

Result<spirv::BlockCounts> read_stage(const Program& program, const StageProgram& stage,
                                      std::span<const uint64_t> record, uint32_t shards_log2,
                                      std::vector<std::string>* findings) {
  const spirv::CounterPlan& plan = stage.info->plan;
  std::vector<uint64_t> sums(plan.counter_count);
  if (!probe::sum_shards(record, program.counters(stage), shards_log2, sums)) {
    return Error{"internal error: a record is shorter than its program"};
  }
  if (findings) {
    for (std::string& finding : plan.verify(sums)) findings->push_back(std::move(finding));
  }
  return plan.derive(sums);
}

}  // namespace tally::counters
