#include "spirv/analysis/nesting.h"

#include <algorithm>
#include <vector>

namespace tally::spirv {
namespace {

using spv::Op;

constexpr uint32_t kRoot = kNone;

// The structured constructs of one function, each identified by its header block.
class Nesting {
 public:
  explicit Nesting(const Cfg& cfg)
      : cfg_(cfg),
        constructs_(cfg.blocks().size(), kRoot),
        known_(cfg.blocks().size()),
        returns_(cfg.blocks().size()),
        depths_(cfg.blocks().size()) {}

  // By block.
  const std::vector<uint32_t>& find() {
    if (cfg_.blocks().empty()) return depths_;
    find_constructs();
    find_returns();
    find_depths();
    return depths_;
  }

 private:
  bool is_header(uint32_t block) const { return cfg_.blocks()[block].merge_block != kNone; }

  // Finds the innermost construct of each block, in breadth-first order. A merge block belongs to
  // the enclosing construct.
  void find_constructs() {
    const auto reach = [&](uint32_t block, uint32_t construct) {
      if (known_[block]) return;
      known_[block] = true;
      constructs_[block] = construct;
      order_.push_back(block);
    };
    reach(0, kRoot);
    for (size_t next = 0; next < order_.size(); ++next) {
      const uint32_t block = order_[next];
      const bool header = is_header(block);
      if (header) reach(cfg_.blocks()[block].merge_block, constructs_[block]);
      for (const uint32_t target : cfg_.successors(block)) {
        reach(target, header ? block : constructs_[block]);
      }
    }
  }

  void find_returns() {
    for (const uint32_t block : order_) {
      const Op end = cfg_.blocks()[block].terminator;
      if (end != Op::OpReturn && end != Op::OpReturnValue) continue;
      for (uint32_t c = constructs_[block]; c != kRoot && !returns_[c]; c = constructs_[c]) {
        returns_[c] = true;
      }
    }
  }

  // A return in a loop breaks out of the loop, so only the code after the loop is nested.
  void find_depths() {
    std::vector<bool> in_loop(constructs_.size());
    std::vector<bool> has_depth(constructs_.size());
    has_depth[0] = true;
    for (const uint32_t block : order_) {
      const uint32_t around = constructs_[block];
      in_loop[block] = around != kRoot && (in_loop[around] || is_loop(around));
      const auto give = [&](uint32_t target, uint32_t depth) {
        if (!has_depth[target]) depths_[target] = depth;
        has_depth[target] = true;
      };
      const bool header = is_header(block);
      const bool predicates = header && returns_[block] && !in_loop[block];
      if (header) give(cfg_.blocks()[block].merge_block, depths_[block] + predicates);
      for (const uint32_t target : cfg_.successors(block)) give(target, depths_[block] + header);
    }
  }

  bool is_loop(uint32_t header) const { return cfg_.blocks()[header].merge == MergeKind::Loop; }

  const Cfg& cfg_;
  std::vector<uint32_t> constructs_;  // by block: the innermost construct
  std::vector<bool> known_;
  std::vector<bool> returns_;  // by header: whether the construct contains a return
  std::vector<uint32_t> depths_;
  std::vector<uint32_t> order_;
};

}  // namespace

uint32_t nested_conditionals(const AnalyzedModule& analyzed, const EntryPoint& entry) {
  const Module& module = analyzed.module();
  const std::vector<uint32_t> order =
      module.calls().callees_first(module.function_index(entry.function_id));
  std::vector<uint32_t> depths(module.functions().size());
  for (const uint32_t f : order) {
    const Result<Cfg>& cfg = analyzed.cfg(f);
    if (!cfg) return 0;
    const std::vector<uint32_t> blocks = Nesting(*cfg).find();
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      depths[f] = std::max(depths[f], blocks[b]);
      for (uint32_t i = cfg->blocks()[b].begin; i < cfg->blocks()[b].end; ++i) {
        const Instruction call = module.instruction(i);
        if (call.opcode() != Op::OpFunctionCall) continue;
        const uint32_t callee = module.function_index(call.operand(0));
        if (callee != kNone) depths[f] = std::max(depths[f], blocks[b] + depths[callee]);
      }
    }
  }
  return order.empty() ? 0 : depths[order.back()];
}

}  // namespace tally::spirv
