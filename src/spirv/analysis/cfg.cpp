#include "spirv/analysis/cfg.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tally::spirv {
namespace {

Error label_error(const Instruction& instruction, uint32_t label) {
  return Error{fmt::format("SPIR-V word {}: {} is not a block of this function",
                           instruction.offset(), label)};
}

bool is_integer(const Module& module, uint32_t id) {
  const std::optional<Instruction> type = module.definition(module.type_of(id));
  return type && type->opcode() == spv::Op::OpTypeInt;
}

}  // namespace

std::vector<uint32_t> branch_targets(const Module& module, const Instruction& terminator) {
  switch (terminator.opcode()) {
    case spv::Op::OpBranch:
      return {terminator.operand(0)};
    case spv::Op::OpBranchConditional:
      return {terminator.operand(1), terminator.operand(2)};
    case spv::Op::OpSwitch:
      break;
    default:
      return {};
  }
  std::vector<uint32_t> targets = {terminator.operand(1)};
  const uint32_t literal = selector_words(module, terminator.operand(0));
  for (size_t at = 2 + literal; at < terminator.operand_count(); at += literal + 1) {
    targets.push_back(terminator.operand(at));
  }
  return targets;
}

std::optional<uint32_t> only_target(const Module& module, const Instruction& terminator) {
  const spv::Op opcode = terminator.opcode();
  const bool is_switch = opcode == spv::Op::OpSwitch;
  if (!module.is_fixed() || (opcode != spv::Op::OpBranchConditional && !is_switch)) {
    return std::nullopt;
  }
  const auto value = module.fixed_value(terminator.operand(0));
  if (!value) return std::nullopt;
  if (!is_switch) return terminator.operand(*value != 0 ? 1 : 2);
  const uint32_t words = selector_words(module, terminator.operand(0));
  const auto type = module.definition(module.type_of(terminator.operand(0)));
  if (!type || type->operand(0) < 32) return std::nullopt;  // a literal may be sign-extended
  for (size_t at = 2; at + words < terminator.operand_count(); at += words + 1) {
    const uint64_t high = words == 2 ? terminator.operand(at + 1) : 0;
    if ((terminator.operand(at) | high << 32) == *value) return terminator.operand(at + words);
  }
  return terminator.operand(1);
}

Result<Cfg> Cfg::build(const Module& module, const Function& function) {
  Cfg cfg;
  TALLY_TRY(cfg.add_blocks(module, function));
  TALLY_TRY(cfg.add_successors(module));
  cfg.add_predecessors();
  cfg.mark_reachable();
  return cfg;
}

Status Cfg::add_blocks(const Module& module, const Function& function) {
  for (const BlockRange& range : module.blocks_of(function)) {
    CfgBlock block{};
    block.label_id = range.label_id;
    block.begin = range.begin;
    block.end = range.end;
    block.terminator = module.instruction(range.end - 1).opcode();
    block.merge_instruction = block.merge_block = block.continue_target = kNone;
    blocks_.push_back(block);
  }
  by_label_.resize(blocks_.size());
  std::iota(by_label_.begin(), by_label_.end(), 0u);
  std::sort(by_label_.begin(), by_label_.end(),
            [&](uint32_t a, uint32_t b) { return blocks_[a].label_id < blocks_[b].label_id; });
  for (CfgBlock& block : blocks_) {
    TALLY_TRY(add_merge(module, block));
  }
  return {};
}

Status Cfg::add_merge(const Module& module, CfgBlock& block) {
  for (uint32_t index = block.end - 1; index-- > block.begin;) {
    const Instruction instruction = module.instruction(index);
    if (is_line(instruction.opcode())) continue;
    const bool loop = instruction.opcode() == spv::Op::OpLoopMerge;
    if (!loop && instruction.opcode() != spv::Op::OpSelectionMerge) return {};
    block.merge = loop ? MergeKind::Loop : MergeKind::Selection;
    block.merge_instruction = index;
    block.merge_block = block_of(instruction.operand(0));
    if (block.merge_block == kNone) return label_error(instruction, instruction.operand(0));
    if (!loop) return {};
    block.continue_target = block_of(instruction.operand(1));
    if (block.continue_target == kNone) return label_error(instruction, instruction.operand(1));
    return {};
  }
  return {};
}

Status Cfg::add_successors(const Module& module) {
  std::vector<uint32_t> seen_from(blocks_.size(), kNone);
  for (uint32_t index = 0; index < blocks_.size(); ++index) {
    successors_.first.push_back(static_cast<uint32_t>(successors_.targets.size()));
    const Instruction terminator = module.instruction(blocks_[index].end - 1);
    if (terminator.opcode() == spv::Op::OpSwitch && !is_integer(module, terminator.operand(0))) {
      return Error{fmt::format("SPIR-V word {}: the selector {} of OpSwitch is not an integer",
                               terminator.offset(), terminator.operand(0))};
    }
    for (const uint32_t label : branch_targets(module, terminator)) {
      const uint32_t target = block_of(label);
      if (target == kNone) return label_error(terminator, label);
      if (seen_from[target] == index) continue;
      seen_from[target] = index;
      successors_.targets.push_back(target);
    }
  }
  successors_.first.push_back(static_cast<uint32_t>(successors_.targets.size()));
  return {};
}

void Cfg::add_predecessors() {
  predecessors_.first.assign(blocks_.size() + 1, 0);
  predecessors_.targets.resize(successors_.targets.size());
  for (const uint32_t target : successors_.targets) ++predecessors_.first[target + 1];
  std::partial_sum(predecessors_.first.begin(), predecessors_.first.end(),
                   predecessors_.first.begin());
  std::vector<uint32_t> next(predecessors_.first.begin(), predecessors_.first.end());
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    for (const uint32_t target : successors(block)) predecessors_.targets[next[target]++] = block;
  }
}

void Cfg::mark_reachable() {
  if (blocks_.empty()) return;
  std::vector<uint32_t> open = {0};
  blocks_[0].reachable = true;
  while (!open.empty()) {
    const uint32_t block = open.back();
    open.pop_back();
    for (const uint32_t target : successors(block)) {
      if (blocks_[target].reachable) continue;
      blocks_[target].reachable = true;
      open.push_back(target);
    }
  }
}

uint32_t Cfg::block_of(uint32_t label_id) const {
  const auto found = std::lower_bound(
      by_label_.begin(), by_label_.end(), label_id,
      [&](uint32_t block, uint32_t label) { return blocks_[block].label_id < label; });
  return found == by_label_.end() || blocks_[*found].label_id != label_id ? kNone : *found;
}

}  // namespace tally::spirv
