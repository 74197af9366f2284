#include "analysis/cost/branch_totals.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/model/counts.h"
#include "catalogue/catalogue.h"

namespace tally::analysis {
namespace {

// Keyed by variant, block and target.
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

// Equal for branches of different instances in one line that belong together.
std::vector<std::string> signature(std::span<const spirv::Branch> branches,
                                   const std::vector<uint32_t>& indices,
                                   const spirv::BlockMap& lines) {
  std::vector<std::string> texts;
  for (const uint32_t index : indices) {
    const spirv::Branch& branch = branches[index];
    std::string text = std::to_string(lines.blocks()[branch.block].end_location->column);
    for (const spirv::BranchTarget& target : branch.targets) text += '\n' + target.label;
    texts.push_back(std::move(text));
  }
  return texts;
}

// Unknown if either is.
void add_counts(BranchCount& sum, const BranchCount& count) {
  for (size_t t = 0; t < sum.taken.size(); ++t) {
    if (!sum.taken[t] || !count.taken[t]) {
      sum.taken[t].reset();
    } else {
      sum.taken[t] = saturating_sum(*sum.taken[t], *count.taken[t]);
    }
  }
}

}  // namespace

std::vector<uint32_t> branch_numbers(std::span<const spirv::Branch> branches,
                                     const spirv::BlockMap& lines) {
  // Sorted by file and line; then by instance.
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, std::vector<uint32_t>>> by_line;
  for (uint32_t i = 0; i < branches.size(); ++i) {
    const spirv::Block& block = lines.blocks()[branches[i].block];
    if (!block.end_location) continue;
    by_line[{block.end_location->file, block.end_location->line}][block.end_instance].push_back(i);
  }
  std::vector<uint32_t> numbers(branches.size(), kNone);
  for (const auto& [line, instances] : by_line) {
    uint32_t next = 0;
    std::map<std::vector<std::string>, uint32_t> first_numbers;
    for (const auto& [instance, indices] : instances) {
      const auto [first, is_new] =
          first_numbers.try_emplace(signature(branches, indices, lines), next);
      if (is_new) next += static_cast<uint32_t>(indices.size());
      for (uint32_t i = 0; i < indices.size(); ++i) numbers[indices[i]] = first->second + i;
    }
  }
  return numbers;
}

std::vector<LineBranch> branches_by_line(std::span<const BranchCount> branches,
                                         const spirv::BlockMap& lines) {
  std::vector<spirv::Branch> code;
  for (const BranchCount& count : branches) code.push_back(count.branch);
  const std::vector<uint32_t> numbers = branch_numbers(code, lines);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, LineBranch> by_number;
  for (size_t i = 0; i < branches.size(); ++i) {
    if (numbers[i] == kNone) continue;
    const spirv::SourceLocation& location = *lines.blocks()[code[i].block].end_location;
    const auto [sum, is_new] = by_number.try_emplace({location.file, location.line, numbers[i]},
                                                     LineBranch{location, numbers[i], branches[i]});
    if (!is_new) add_counts(sum->second.counts, branches[i]);
  }
  std::vector<LineBranch> result;
  for (auto& [key, branch] : by_number) result.push_back(std::move(branch));
  return result;
}

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
