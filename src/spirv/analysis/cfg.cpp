#include "spirv/analysis/cfg.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "spirv/ir/newer_enums.h"

namespace tally::spirv {
namespace {

// Words of a literal of the switch's selector type: 2 for 64-bit integers.
uint32_t selector_words(const Module& module, uint32_t selector) {
  const std::optional<Instruction> type = module.definition(module.type_of(selector));
  return type && type->opcode() == spv::Op::OpTypeInt && type->operand(0) > 32 ? 2 : 1;
}

Error label_error(const Instruction& instruction, uint32_t label) {
  return Error{
      fmt::format("SPIR-V word {}: {} is no block of this function", instruction.offset(), label)};
}

// The functions that an instruction calls; 0 where it calls none, or one alone.
struct CalledFunctions {
  uint32_t first = 0, second = 0;
};

// The functions that decode what OpCooperativeMatrixLoadTensorNV reads, by element and by vector.
// Memory operands stand before the tensor's, each a mask and what its bits call for in their order.
CalledFunctions decode_functions(const Instruction& load) {
  constexpr uint32_t kMemoryOperandsWithId = 0x2 | 0x8 | 0x10 | 0x10000 | 0x20000;
  constexpr uint32_t kTensorView = 1;
  constexpr uint32_t kDecodeFunction = 2;
  constexpr uint32_t kDecodeVectorFunction = 4;
  const size_t tensor =
      4 + static_cast<size_t>(std::popcount(load.operand(3) & kMemoryOperandsWithId));
  const uint32_t mask = load.operand(tensor);
  size_t next = tensor + 1 + (mask & kTensorView);
  CalledFunctions called;
  if (mask & kDecodeFunction) called.first = load.operand(next++);
  if (mask & kDecodeVectorFunction) called.second = load.operand(next);
  return called;
}

CalledFunctions called_functions(const Instruction& instruction) {
  const spv::Op opcode = instruction.opcode();
  if (opcode == spv::Op::OpFunctionCall) return {instruction.operand(0)};
  if (opcode == newer::OpCooperativeMatrixPerElementOpNV) return {instruction.operand(1)};
  if (opcode == newer::OpCooperativeMatrixReduceNV) return {instruction.operand(2)};
  if (opcode == newer::OpCooperativeMatrixLoadTensorNV) return decode_functions(instruction);
  return {};
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

Result<Cfg> Cfg::build(const Module& module, const Function& function) {
  Cfg cfg;
  if (Status status = cfg.add_blocks(module, function); !status) return status.error();
  if (Status status = cfg.add_successors(module); !status) return status.error();
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
    if (Status status = add_merge(module, block); !status) return status;
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

CallGraph CallGraph::build(const Module& module) {
  CallGraph graph;
  graph.module_ = &module;
  std::vector<uint32_t> called_by_matrices;
  for (const Function& function : module.functions()) {
    std::vector<uint32_t> callees;
    for (uint32_t index = function.begin; index < function.end; ++index) {
      const Instruction instruction = module.instruction(index);
      const CalledFunctions called = called_functions(instruction);
      for (const uint32_t id : {called.first, called.second}) {
        const uint32_t callee = id == 0 ? kNone : module.function_index(id);
        if (callee == kNone) continue;
        callees.push_back(callee);
        if (instruction.opcode() != spv::Op::OpFunctionCall) called_by_matrices.push_back(callee);
      }
    }
    std::sort(callees.begin(), callees.end());
    callees.erase(std::unique(callees.begin(), callees.end()), callees.end());
    graph.first_.push_back(static_cast<uint32_t>(graph.callees_.size()));
    graph.callees_.insert(graph.callees_.end(), callees.begin(), callees.end());
  }
  graph.first_.push_back(static_cast<uint32_t>(graph.callees_.size()));
  graph.called_by_matrices_ = graph.flood(called_by_matrices);
  return graph;
}

// Marks functions and all that they may call.
std::vector<bool> CallGraph::flood(std::vector<uint32_t> open) const {
  std::vector<bool> seen(module_->functions().size());
  for (const uint32_t function : open) seen[function] = true;
  while (!open.empty()) {
    const uint32_t function = open.back();
    open.pop_back();
    for (const uint32_t callee : callees(function)) {
      if (!seen[callee]) open.push_back(callee);
      seen[callee] = true;
    }
  }
  return seen;
}

std::span<const uint32_t> CallGraph::callees(uint32_t function) const {
  return std::span(callees_).subspan(first_[function], first_[function + 1] - first_[function]);
}

std::vector<uint32_t> CallGraph::reachable_from(uint32_t function_id) const {
  const uint32_t start = module_->function_index(function_id);
  if (start == kNone) return {};
  const std::vector<bool> seen = flood({start});
  std::vector<uint32_t> reached;
  for (uint32_t function = 0; function < seen.size(); ++function) {
    if (seen[function]) reached.push_back(function);
  }
  return reached;
}

std::vector<uint32_t> CallGraph::callees_first(uint32_t function_id) const {
  const uint32_t start = module_->function_index(function_id);
  if (start == kNone) return {};
  struct Visit {
    uint32_t function;
    size_t next;  // of its callees
  };
  std::vector<bool> seen(module_->functions().size());
  std::vector<uint32_t> order;
  std::vector<Visit> open = {{start, 0}};
  seen[start] = true;
  while (!open.empty()) {
    Visit& visit = open.back();
    const auto called = callees(visit.function);
    if (visit.next == called.size()) {
      order.push_back(visit.function);
      open.pop_back();
      continue;
    }
    const uint32_t callee = called[visit.next++];
    if (seen[callee]) continue;
    seen[callee] = true;
    open.push_back({callee, 0});
  }
  return order;
}

}  // namespace tally::spirv
