#include "spirv/analysis/discards.h"

#include <algorithm>
#include <vector>

#include "spirv/analysis/loop_constructs.h"

namespace tally::spirv {
namespace {

using spv::Op;

class Discards {
 public:
  Discards(const AnalyzedModule& analyzed, const EntryPoint& entry)
      : analyzed_(analyzed),
        module_(analyzed.module()),
        functions_(module_.reachable_functions(entry.function_id)),
        discards_(module_.functions().size()) {}

  bool in_loop() {
    std::vector<uint32_t> found;
    for (const uint32_t f : functions_) {
      if (has_discard(module_.functions()[f])) found.push_back(f);
    }
    if (found.empty()) return false;
    mark_callers(std::move(found));
    return std::ranges::any_of(functions_, [&](uint32_t f) { return in_loop_of(f); });
  }

 private:
  bool has_discard(const Function& function) const {
    for (uint32_t i = function.begin; i < function.end; ++i) {
      if (is_discard(module_.instruction(i).opcode())) return true;
    }
    return false;
  }

  // Marks functions and their direct and indirect callers.
  void mark_callers(std::vector<uint32_t> work) {
    std::vector<std::vector<uint32_t>> callers(discards_.size());
    for (const uint32_t f : functions_) {
      for (const uint32_t callee : module_.calls().callees(f)) callers[callee].push_back(f);
    }
    for (const uint32_t f : work) discards_[f] = true;
    while (!work.empty()) {
      const uint32_t f = work.back();
      work.pop_back();
      for (const uint32_t caller : callers[f]) {
        if (!discards_[caller]) work.push_back(caller);
        discards_[caller] = true;
      }
    }
  }

  bool in_loop_of(uint32_t f) const {
    if (!discards_[f]) return false;
    const Result<Cfg>& cfg = analyzed_.cfg(f);
    if (!cfg) return false;
    const std::vector<bool> in_loops = blocks_in_loops(*cfg);
    for (uint32_t block = 0; block < in_loops.size(); ++block) {
      if (in_loops[block] && block_discards(cfg->blocks()[block])) return true;
    }
    return false;
  }

  bool block_discards(const CfgBlock& block) const {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Instruction instruction = module_.instruction(i);
      if (is_discard(instruction.opcode())) return true;
      if (instruction.opcode() != Op::OpFunctionCall) continue;
      const uint32_t callee = module_.function_index(instruction.operand(0));
      if (callee != kNone && discards_[callee]) return true;
    }
    return false;
  }

  const AnalyzedModule& analyzed_;
  const Module& module_;
  std::vector<uint32_t> functions_;
  std::vector<bool> discards_;  // by function: it or one of its callees discards
};

}  // namespace

bool is_discard(Op opcode) {
  return opcode == Op::OpKill || opcode == Op::OpTerminateInvocation ||
         opcode == Op::OpDemoteToHelperInvocation;
}

bool discards_in_loop(const AnalyzedModule& analyzed, const EntryPoint& entry) {
  return Discards(analyzed, entry).in_loop();
}

}  // namespace tally::spirv
