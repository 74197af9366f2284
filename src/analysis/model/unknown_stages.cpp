#include "analysis/model/unknown_stages.h"

#include <unordered_map>

namespace tally::analysis {

Result<uint64_t> count_unknown_stages(const Model& model) {
  std::unordered_map<store::RowId, const Batch*> batches;
  for (const Batch& batch : model.batches) batches.emplace(batch.id, &batch);
  auto stages = model.reader.query("SELECT DISTINCT batch, sub, stage FROM batch_count");
  if (!stages) return stages.error();
  uint64_t count = 0;
  while (stages->step()) {
    const auto found = batches.find(stages->integer(0));
    if (found == batches.end() || !found->second->counted) continue;
    const uint32_t shader =
        model.shader_of(found->second->pipeline, static_cast<uint32_t>(stages->integer(1)),
                        static_cast<uint32_t>(stages->integer(2)));
    if (shader == kNone) count += found->second->commands.size();
  }
  if (Status status = stages->status(); !status) return status.error();
  return count;
}

}  // namespace tally::analysis
