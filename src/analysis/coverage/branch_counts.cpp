#include "analysis/coverage/branch_counts.h"

#include <algorithm>
#include <unordered_map>

#include "spirv/analysis/cfg.h"

namespace tally::analysis {
namespace {

class BranchReader {
 public:
  BranchReader(const ShaderCode& code, uint32_t variant, const BlockTotals& totals)
      : code_(code), variant_(variant), totals_(totals), entries_(code.map.blocks().size()) {
    const auto blocks = code.map.blocks();
    for (uint32_t b = 0; b < blocks.size(); ++b) block_of_label_[blocks[b].label_id] = b;
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      targets_.push_back(targets_of(b));
      for (const uint32_t target : targets_.back()) ++entries_[target];
    }
  }

  std::vector<BranchCounts> run() const {
    std::vector<BranchCounts> result;
    for (uint32_t b = 0; b < targets_.size(); ++b) {
      const auto lines = code_.map.lines_of(code_.map.blocks()[b]);
      if (targets_[b].size() < 2 || lines.empty() || !code_.is_countable(b)) continue;
      result.push_back({b, lines.back().location, executions(b), taken(b)});
    }
    return result;
  }

 private:
  uint32_t terminator_of(uint32_t block) const {
    const auto& module = code_.module;
    const uint32_t label = module.definition_index(code_.map.blocks()[block].label_id);
    const auto found =
        std::ranges::lower_bound(module.blocks(), label, {}, &spirv::BlockRange::begin);
    return found->end - 1;
  }

  std::vector<uint32_t> targets_of(uint32_t block) const {
    std::vector<uint32_t> targets;
    const spirv::Instruction end = code_.module.instruction(terminator_of(block));
    for (const uint32_t label : spirv::branch_targets(code_.module, end)) {
      const auto found = block_of_label_.find(label);
      if (found != block_of_label_.end() &&
          std::ranges::find(targets, found->second) == targets.end()) {
        targets.push_back(found->second);
      }
    }
    return targets;
  }

  uint64_t executions(uint32_t block) const {
    return block < totals_.block_count(variant_) ? totals_.executions(variant_, block) : 0;
  }

  // Whether an invocation that begins the block also reaches its end, without becoming a helper.
  bool is_left_by_all(uint32_t block) const {
    const uint32_t end = terminator_of(block);
    for (uint32_t i = code_.module.definition_index(code_.map.blocks()[block].label_id); i < end;
         ++i) {
      const spv::Op opcode = code_.module.instruction(i).opcode();
      if (opcode == spv::Op::OpFunctionCall || spirv::ends_invocation_inside_block(opcode))
        return false;
    }
    return true;
  }

  std::vector<uint64_t> taken(uint32_t block) const {
    const std::vector<uint32_t>& targets = targets_[block];
    std::vector<uint64_t> counts(targets.size());
    if (executions(block) == 0) return counts;
    size_t unknown = targets.size();
    uint64_t known = 0;
    for (size_t t = 0; t < targets.size(); ++t) {
      if (entries_[targets[t]] == 1) {
        counts[t] = executions(targets[t]);
        known += counts[t];
      } else if (unknown != targets.size()) {
        return {};
      } else {
        unknown = t;
      }
    }
    if (unknown == targets.size()) return counts;
    if (!is_left_by_all(block) || known > executions(block)) return {};
    counts[unknown] = executions(block) - known;
    return counts;
  }

  const ShaderCode& code_;
  uint32_t variant_;
  const BlockTotals& totals_;
  std::unordered_map<uint32_t, uint32_t> block_of_label_;
  std::vector<std::vector<uint32_t>> targets_;  // by block: different ones
  std::vector<uint32_t> entries_;               // by block: blocks that lead to it
};

}  // namespace

std::vector<BranchCounts> branch_counts(const ShaderCode& code, uint32_t variant,
                                        const BlockTotals& totals) {
  return BranchReader(code, variant, totals).run();
}

}  // namespace tally::analysis
