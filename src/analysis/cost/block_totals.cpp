#include "analysis/cost/block_totals.h"

#include <algorithm>

#include "analysis/model/counts.h"
#include "analysis/model/metrics.h"

namespace tally::analysis {
namespace {

// A damaged file may name blocks that the shader does not have; its rows must not consume memory.
constexpr size_t kMaxBlocksWithoutCode = 65'536;

}  // namespace

BlockTotals::BlockTotals(const Model& model, ShaderCodes& codes, const Variants& variants)
    : model_(model), codes_(codes), variants_(variants), totals_(variants.size()) {}

bool BlockTotals::reserve_block(uint32_t variant, uint32_t block) {
  auto& executions = totals_[variant].executions;
  if (block < executions.size()) return true;
  const auto& code = codes_.of(variants_[variant].shader);
  const size_t block_limit = code.ok() ? code->map.blocks().size() : kMaxBlocksWithoutCode;
  if (block >= block_limit) return false;
  executions.resize(code.ok() ? block_limit : block + 1);
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
    if (!totals.reserve_block(variant, b.block)) return;
    Totals& of = totals.totals_[variant];
    for (auto* sums : {&of.executions, b.have_costs ? &of.with_costs : nullptr}) {
      if (sums != nullptr) (*sums)[b.block] = saturating_sum((*sums)[b.block], b.executions);
    }
  });
  StoredValues stored_values;
  if (status.ok()) {
    status = visit_block_values(model, progress, [&](const BlockValue& b) {
      const uint32_t variant = variant_of(b);
      if (!totals.reserve_block(variant, b.block)) return;
      StoredValue& stored = stored_values[{variant, b.block, b.metric}];
      stored.value = saturating_sum(stored.value, b.value);
      stored.executions = saturating_sum(stored.executions, b.executions);
    });
  }
  if (status.ok()) status = totals.compute_values(stored_values);
  if (!status.ok()) return status.error();
  return totals;
}

// Computes executions x cost, except for executions whose values the capture stores.
Status BlockTotals::compute_values(const StoredValues& stored_values) {
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
      const auto stored = stored_values.find({v, row.block, metric});
      const uint64_t all = totals_[v].with_costs[row.block];
      const uint64_t counted =
          stored == stored_values.end() ? all : all - std::min(all, stored->second.executions);
      totals_[v].values->add(row.block, metric, saturating_product(counted, row.per_execution));
    }
    return true;
  });
  for (const auto& [key, stored] : stored_values) {
    const auto& [variant, block, metric] = key;
    totals_[variant].values->add(block, metric, stored.value);
  }
  add_executions_metric();
  add_subgroup_executions();
  return status;
}

// Sets the metric that counts executions, in case the capture stores no cost of 1 for it.
void BlockTotals::add_executions_metric() {
  const uint32_t metric = executions_metric(describe_metrics(model_));
  if (metric == kNone) return;
  for (Totals& of : totals_) {
    for (size_t block = 0; block < of.executions.size(); ++block) {
      of.values->raise_to(block, metric, of.executions[block]);
    }
  }
}

void BlockTotals::add_subgroup_executions() {
  if (model_.subgroup_lanes == kNone) return;
  for (Totals& of : totals_) {
    for (size_t block = 0; block < of.executions.size(); ++block) {
      if (of.values->at(block, model_.subgroup_lanes) == 0) continue;
      of.values->add(block, model_.subgroup_executions, of.executions[block]);
    }
  }
}

}  // namespace tally::analysis
