#include "analysis/coverage/branch_counts.h"

#include <algorithm>
#include <utility>

namespace tally::analysis {
namespace {

// True if an invocation that begins the block also reaches its end, without becoming a helper.
bool is_left_by_all(const ShaderCode& code, uint32_t block) {
  const uint32_t label = code.module.definition_index(code.map.blocks()[block].label_id);
  const auto range =
      std::ranges::lower_bound(code.module.blocks(), label, {}, &spirv::BlockRange::begin);
  for (uint32_t i = range->begin; i + 1 < range->end; ++i) {
    const spv::Op opcode = code.module.instruction(i).opcode();
    if (opcode == spv::Op::OpFunctionCall || spirv::ends_invocation_inside_block(opcode))
      return false;
  }
  return true;
}

// Sets the count of the only target without one to what the others leave.
void complete(BranchCount& count, uint64_t executions) {
  const auto begin = count.taken.begin(), end = count.taken.end();
  if (std::count(begin, end, std::nullopt) != 1 || count.total() > executions) return;
  *std::find(begin, end, std::nullopt) = executions - count.total();
}

}  // namespace

std::vector<BranchCount> branch_counts(const ShaderCode& code, uint32_t variant,
                                       const BlockTotals& totals) {
  std::vector<BranchCount> counts;
  for (spirv::Branch& branch : spirv::branches_of(code.module, code.map)) {
    const uint64_t times = totals.executions(variant, branch.block);
    BranchCount count{std::move(branch), {}};
    for (const spirv::BranchTarget& target : count.branch.targets) {
      std::optional<uint64_t>& taken = count.taken.emplace_back();
      if (times == 0) taken = 0;
      if (times != 0 && target.sole_entry) taken = totals.executions(variant, target.block);
    }
    if (is_left_by_all(code, count.branch.block)) complete(count, times);
    counts.push_back(std::move(count));
  }
  return counts;
}

}  // namespace tally::analysis
