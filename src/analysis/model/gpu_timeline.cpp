#include "analysis/model/gpu_timeline.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace tally::analysis {
namespace {

// False if the span has no place on a time axis from 0 on: a file may hold any numbers.
bool is_time(int64_t begin, int64_t time) {
  return begin >= 0 && time >= 0 && begin <= std::numeric_limits<int64_t>::max() - time;
}

}  // namespace

Result<std::vector<GpuSpan>> gpu_timeline(const Model& model) {
  std::vector<GpuSpan> spans;
  for (uint32_t p = 0; p < model.passes.size(); ++p) {
    const store::PassRow& row = model.passes[p].row;
    if (!row.gpu_begin_ns || !row.gpu_time_ns || !is_time(*row.gpu_begin_ns, *row.gpu_time_ns))
      continue;
    spans.push_back(
        {*row.gpu_begin_ns, *row.gpu_begin_ns + *row.gpu_time_ns, model.passes[p].frame, p, kNone});
  }
  std::unordered_map<store::RowId, const Batch*> batches;
  for (const Batch& batch : model.batches) batches.emplace(batch.id, &batch);
  const Status read = model.reader.for_each_batch([&](const store::CommandBatchRow& row) {
    const auto found = batches.find(row.id);
    if (found == batches.end() || row.pass) return true;
    for (size_t i = 0; i < found->second->commands.size(); ++i) {
      const uint32_t command = found->second->commands[i];
      const int64_t begin = row.gpu_begin_ns.at(i), time = row.gpu_time_ns.at(i);
      if (is_time(begin, time))
        spans.push_back({begin, begin + time, model.commands[command].frame, kNone, command});
    }
    return true;
  });
  if (!read) return read.error();
  std::ranges::stable_sort(spans, [](const GpuSpan& a, const GpuSpan& b) {
    return std::pair(a.begin_ns, -a.end_ns) < std::pair(b.begin_ns, -b.end_ns);
  });
  return spans;
}

}  // namespace tally::analysis
