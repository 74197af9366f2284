#include "analysis/model/unknown_stages.h"

#include <unordered_map>

namespace tally::analysis {

Result<uint64_t> count_unknown_stages(const Model& model) {
  std::unordered_multimap<store::RowId, const Batch*> batches;  // several share values
  for (const Batch& batch : model.batches) batches.emplace(batch.values, &batch);
  auto stages = model.reader.query("SELECT DISTINCT batch, sub, stage FROM batch_count");
  if (!stages) return stages.error();
  uint64_t count = 0;
  while (stages->step()) {
    const auto [begin, end] = batches.equal_range(stages->integer(0));
    for (auto at = begin; at != end; ++at) {
      const Batch& batch = *at->second;
      if (!batch.counted) continue;
      const uint32_t shader =
          model.shader_of(batch.pipeline, static_cast<uint32_t>(stages->integer(1)),
                          static_cast<uint32_t>(stages->integer(2)));
      if (shader == kNone) count += batch.commands.size();
    }
  }
  if (Status status = stages->status(); !status) return status.error();
  return count;
}

}  // namespace tally::analysis
