#include "analysis/cost/branch_totals.h"

#include <map>
#include <tuple>
#include <utility>

#include "analysis/model/counts.h"
#include "catalogue/catalogue.h"

namespace tally::analysis {
namespace {

// By variant, block and target.
using Times = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t>;

BranchCount count_of(uint32_t variant, spirv::Branch branch, const BlockTotals& blocks,
                     const Times& times) {
  static const size_t counted_targets = catalogue::counters_of(catalogue::Scope::Branch).size();
  BranchCount count{std::move(branch), {}};
  for (uint32_t target = 0; target < count.branch.targets.size(); ++target) {
    const spirv::BranchTarget& to = count.branch.targets[target];
    std::optional<uint64_t>& taken = count.taken.emplace_back();
    if (target < counted_targets) {
      const auto found = times.find({variant, count.branch.block, target});
      taken = found == times.end() ? 0 : found->second;
    } else if (to.sole_entry) {
      taken = blocks.executions(variant, to.block);
    }
  }
  return count;
}

}  // namespace

uint64_t BranchCount::total() const {
  uint64_t total = 0;
  for (const auto& times : taken) total = saturating_sum(total, times.value_or(0));
  return total;
}

Result<BranchTotals> BranchTotals::count(const Model& model, ShaderCodes& codes,
                                         const Variants& variants, const BlockTotals& blocks,
                                         const Progress& progress) {
  BranchTotals totals;
  totals.branches_.resize(variants.size());
  if (model.branch_metrics.empty()) return totals;
  Times times;
  const Status status = visit_branch_values(model, progress, [&](const BranchValue& value) {
    const uint32_t variant = variants.of(model.commands[value.command].pipeline, value.shader);
    uint64_t& sum = times[{variant, value.block, value.target}];
    sum = saturating_sum(sum, value.times);
  });
  if (!status) return status.error();
  for (uint32_t variant = 0; variant < variants.size(); ++variant) {
    const auto& code = codes.of(variants[variant].shader);
    if (!code.ok() || blocks.block_count(variant) == 0) continue;
    for (spirv::Branch& branch : spirv::branches_of(code->module, code->map)) {
      totals.branches_[variant].push_back(count_of(variant, std::move(branch), blocks, times));
    }
  }
  return totals;
}

}  // namespace tally::analysis
