#include "spirv/analysis/branches.h"

#include <fmt/format.h>

#include "spirv/analysis/cfg.h"

namespace tally::spirv {
namespace {

// The literal of a case, as the selector's type has it.
std::string literal_text(const Module& module, const Instruction& branch, size_t at) {
  const std::optional<Instruction> type = module.definition(module.type_of(branch.operand(0)));
  const bool is_signed =
      type && type->opcode() == spv::Op::OpTypeInt && type->operand_count() > 1 && type->operand(1);
  uint64_t value = branch.operand(at);
  if (selector_words(module, branch.operand(0)) == 2) {
    value |= uint64_t{branch.operand(at + 1)} << 32;
  } else if (is_signed) {
    value = static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
  }
  return is_signed ? fmt::format("{}", static_cast<int64_t>(value)) : fmt::format("{}", value);
}

// The edges that lead to the block that `label` begins.
std::string switch_label(const Module& module, const Instruction& branch, uint32_t label) {
  std::string text = branch.operand(1) == label ? "default" : "";
  const uint32_t words = selector_words(module, branch.operand(0));
  bool has_case = false;
  for (size_t at = 2; at + words < branch.operand_count(); at += words + 1) {
    if (branch.operand(at + words) != label) continue;
    if (!has_case) text += text.empty() ? "case " : ", case ";
    if (has_case) text += ", ";
    text += literal_text(module, branch, at);
    has_case = true;
  }
  return text;
}

Branch branch_of(const Module& module, const BlockMap& map, const Cfg& cfg, uint32_t first_block,
                 uint32_t block) {
  const CfgBlock& from = cfg.blocks()[block];
  const Instruction instruction = module.instruction(from.end - 1);
  Branch branch{first_block + block,
                from.terminator == spv::Op::OpSwitch,
                map.blocks()[first_block + block].end_location,
                {}};
  for (const uint32_t target : cfg.successors(block)) {
    const std::string label = branch.is_switch
                                  ? switch_label(module, instruction, cfg.blocks()[target].label_id)
                                  : (branch.targets.empty() ? "true" : "false");
    branch.targets.push_back({first_block + target, label, cfg.predecessors(target).size() == 1});
  }
  return branch;
}

}  // namespace

std::vector<Branch> branches_of(const Module& module, const BlockMap& map) {
  std::vector<Branch> branches;
  for (const MappedFunction& function : map.functions()) {
    const uint32_t index = module.function_index(function.id);
    if (!function.is_countable || index == kNone) continue;
    const Result<Cfg> cfg = Cfg::build(module, module.functions()[index]);
    if (!cfg) continue;
    for (uint32_t block = 0; block < cfg->blocks().size(); ++block) {
      if (!cfg->blocks()[block].reachable || cfg->successors(block).size() < 2) continue;
      branches.push_back(branch_of(module, map, *cfg, function.first_block, block));
    }
  }
  return branches;
}

}  // namespace tally::spirv
