#include "analysis/cost/block_totals.h"

#include <algorithm>

#include "analysis/model/counts.h"
#include "analysis/model/metrics.h"

namespace tally::analysis {
namespace {

// A file that names blocks that the shader does not have is damaged; its rows must not cost us
// memory.
constexpr size_t kMaxBlocksWithoutCode = 65'536;

}  // namespace

BlockTotals::BlockTotals(const Model& model, ShaderCodes& codes, const Variants& variants)
    : model_(model), codes_(codes), variants_(variants), totals_(variants.size()) {}

bool BlockTotals::has_room(uint32_t variant, uint32_t block) {
  auto& executions = totals_[variant].executions;
  if (block < executions.size()) return true;
  const auto& code = codes_.of(variants_[variant].shader);
  const size_t most = code.ok() ? code->map.blocks().size() : kMaxBlocksWithoutCode;
  if (block >= most) return false;
  executions.resize(code.ok() ? most : block + 1);
  totals_[variant].with_costs.resize(executions.size());
  return true;
}

Result<BlockTotals> BlockTotals::count(const Model& model, ShaderCodes& codes,
                                       const Variants& variants, const Progress& progress) {
  BlockTotals totals(model, codes, variants);
  const auto variant_of = [&](const auto& b) {
    return variants.of(model.commands[b.command].pipeline, b.shader);
  };
  Status status = visit_block_executions(model, progress, [&](const BlockExecutions& b) {
    const uint32_t variant = variant_of(b);
    if (!totals.has_room(variant, b.block)) return;
    Totals& of = totals.totals_[variant];
    for (auto* sums : {&of.executions, b.have_costs ? &of.with_costs : nullptr}) {
      if (sums != nullptr) (*sums)[b.block] = saturating_sum((*sums)[b.block], b.executions);
    }
  });
  Others others;
  if (status.ok()) {
    status = visit_block_values(model, progress, [&](const BlockValue& b) {
      const uint32_t variant = variant_of(b);
      if (!totals.has_room(variant, b.block)) return;
      Other& other = others[{variant, b.block, b.metric}];
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
  std::vector<std::vector<uint32_t>> variants_of(model_.shaders.size());
  for (uint32_t v = 0; v < totals_.size(); ++v) {
    variants_of[variants_[v].shader].push_back(v);
    totals_[v].values =
        std::make_unique<MetricMatrix>(totals_[v].executions.size(), model_.metrics.size());
  }
  Status status = model_.reader.for_each_block_cost([&](const store::BlockCostRow& row) {
    const uint32_t shader = model_.shader_index.find(row.shader),
                   metric = model_.metric_index.find(row.metric);
    if (shader == kNone || metric == kNone) return true;
    for (const uint32_t v : variants_of[shader]) {
      if (row.block >= block_count(v)) continue;
      const auto other = others.find({v, row.block, metric});
      const uint64_t all = totals_[v].with_costs[row.block];
      const uint64_t counted =
          other == others.end() ? all : all - std::min(all, other->second.executions);
      totals_[v].values->add(row.block, metric, saturating_product(counted, row.per_execution));
    }
    return true;
  });
  for (const auto& [key, other] : others) {
    const auto& [variant, block, metric] = key;
    totals_[variant].values->add(block, metric, other.value);
  }
  count_executions_themselves();
  return status;
}

// Where the capture holds no cost of 1 for the metric that is the executions themselves.
void BlockTotals::count_executions_themselves() {
  const uint32_t metric = executions_metric(describe_metrics(model_));
  if (metric == kNone) return;
  for (Totals& of : totals_) {
    for (size_t block = 0; block < of.executions.size(); ++block) {
      of.values->raise(block, metric, of.executions[block]);
    }
  }
}

}  // namespace tally::analysis
