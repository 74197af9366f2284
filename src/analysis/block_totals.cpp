#include "analysis/block_totals.h"

#include <algorithm>

#include "analysis/counts.h"

namespace tally::analysis {
namespace {

// A file that names blocks that the shader does not have is damaged; its rows must not cost us
// memory.
constexpr size_t kMostBlocksWithoutCode = 65'536;

}  // namespace

BlockTotals::BlockTotals(const Model& model, ShaderCodes& codes)
    : model_(model), codes_(codes), shaders_(model.shaders.size()) {}

bool BlockTotals::has_room(uint32_t shader, uint32_t block) {
  auto& executions = shaders_[shader].executions;
  if (block < executions.size()) return true;
  const auto& code = codes_.of(shader);
  const size_t most = code.ok() ? code->map.blocks().size() : kMostBlocksWithoutCode;
  if (block >= most) return false;
  executions.resize(code.ok() ? most : block + 1);
  shaders_[shader].with_costs.resize(executions.size());
  return true;
}

Result<BlockTotals> BlockTotals::count(const Model& model, ShaderCodes& codes,
                                       const Progress& progress) {
  BlockTotals totals(model, codes);
  Status status = visit_block_executions(model, progress, [&](const BlockExecutions& b) {
    if (!totals.has_room(b.shader, b.block)) return;
    Shader& shader = totals.shaders_[b.shader];
    for (auto* sums : {&shader.executions, b.have_costs ? &shader.with_costs : nullptr}) {
      if (sums != nullptr) (*sums)[b.block] = saturating_sum((*sums)[b.block], b.executions);
    }
  });
  Others others;
  if (status.ok()) {
    status = visit_block_values(model, progress, [&](const BlockValue& b) {
      if (!totals.has_room(b.shader, b.block)) return;
      Other& other = others[{b.shader, b.block, b.metric}];
      other.value = saturating_sum(other.value, b.value);
      other.executions = saturating_sum(other.executions, b.executions);
    });
  }
  if (status.ok()) status = totals.make_values(others);
  if (!status.ok()) return status.error();
  return totals;
}

// Executions x cost, but for the executions whose value the capture holds by itself.
Status BlockTotals::make_values(const Others& others) {
  for (Shader& shader : shaders_) {
    shader.values = std::make_unique<MetricMatrix>(shader.executions.size(), model_.metrics.size());
  }
  Status status = model_.reader.for_each_block_cost([&](const store::BlockCostRow& row) {
    const uint32_t shader = model_.shader_index.find(row.shader),
                   metric = model_.metric_index.find(row.metric);
    if (shader == kNone || metric == kNone || row.block >= block_count(shader)) return true;
    const auto other = others.find({shader, row.block, metric});
    const uint64_t all = shaders_[shader].with_costs[row.block];
    const uint64_t counted =
        other == others.end() ? all : all - std::min(all, other->second.executions);
    shaders_[shader].values->add(row.block, metric, saturating_product(counted, row.per_execution));
    return true;
  });
  for (const auto& [key, other] : others) {
    const auto& [shader, block, metric] = key;
    shaders_[shader].values->add(block, metric, other.value);
  }
  count_executions_themselves();
  return status;
}

// Where the capture holds no cost of 1 for the metric that is the executions themselves.
void BlockTotals::count_executions_themselves() {
  const uint32_t metric = executions_metric(describe_metrics(model_));
  if (metric == kNone) return;
  for (Shader& shader : shaders_) {
    for (size_t block = 0; block < shader.executions.size(); ++block) {
      shader.values->raise(block, metric, shader.executions[block]);
    }
  }
}

}  // namespace tally::analysis
