#include "counters/source/instrumented_record.h"

namespace tally::counters {

Result<spirv::BlockCounts> read_stage(const StageProgram& stage, std::span<const uint64_t> record,
                                      uint32_t shards_log2) {
  std::vector<uint64_t> sums(stage.info->plan.counter_count);
  if (!probe::sum_shards(record, stage.counters, shards_log2, sums)) {
    return Error{"internal error: a record is shorter than its program"};
  }
  return stage.info->plan.derive(sums);
}

}  // namespace tally::counters
