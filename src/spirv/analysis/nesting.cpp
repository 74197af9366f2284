#include "spirv/analysis/nesting.h"

#include <algorithm>
#include <vector>

namespace tally::spirv {
namespace {

using spv::Op;

constexpr uint32_t kRoot = kNone;

// The structured constructs of one function. A construct has the number of its header block;
// the cases of a switch are constructs of their own, numbered by their first block after all
// blocks.
class Nesting {
 public:
  explicit Nesting(const Cfg& cfg)
      : cfg_(cfg),
        count_(static_cast<uint32_t>(cfg.blocks().size())),
        around_(2 * count_, kRoot),
        known_(count_),
        returns_(2 * count_),
        depths_(count_) {}

  // Indexed by block.
  const std::vector<uint32_t>& find() {
    if (cfg_.blocks().empty()) return depths_;
    find_constructs();
    find_returns();
    find_depths();
    return depths_;
  }

 private:
  bool is_header(uint32_t block) const { return cfg_.blocks()[block].merge_block != kNone; }
  bool is_switch(uint32_t block) const {
    return is_header(block) && cfg_.blocks()[block].terminator == Op::OpSwitch;
  }
  uint32_t case_of(uint32_t first_block) const { return count_ + first_block; }

  // Finds the innermost construct of each block, in breadth-first order. A merge block belongs to
  // the enclosing construct.
  void find_constructs() {
    const auto reach = [&](uint32_t block, uint32_t construct) {
      if (known_[block]) return;
      known_[block] = true;
      around_[block] = construct;
      order_.push_back(block);
    };
    reach(0, kRoot);
    for (size_t next = 0; next < order_.size(); ++next) {
      const uint32_t block = order_[next];
      const bool header = is_header(block);
      if (header) reach(cfg_.blocks()[block].merge_block, around_[block]);
      for (const uint32_t target : cfg_.successors(block)) {
        if (is_switch(block) && !known_[target]) {
          around_[case_of(target)] = block;
          reach(target, case_of(target));
        } else {
          reach(target, header ? block : around_[block]);
        }
      }
    }
  }

  void find_returns() {
    for (const uint32_t block : order_) {
      const Op end = cfg_.blocks()[block].terminator;
      if (end != Op::OpReturn && end != Op::OpReturnValue) continue;
      for (uint32_t c = around_[block]; c != kRoot && !returns_[c]; c = around_[c]) {
        returns_[c] = true;
      }
    }
  }

  // How much deeper the code behind a construct gets that contains a return.
  uint32_t predicates(uint32_t header) const {
    if (!is_switch(header)) return returns_[header];
    return static_cast<uint32_t>(std::ranges::count_if(
        cfg_.successors(header), [&](uint32_t target) { return returns_[case_of(target)]; }));
  }

  // A return in a loop breaks out of the loop, so only the code after the loop is nested. A switch
  // is an `if` for each case, in an order that the compiler chooses: a case may stand behind all
  // the others that return.
  void find_depths() {
    std::vector<bool> in_loop(count_);
    std::vector<bool> has_depth(count_);
    has_depth[0] = true;
    for (const uint32_t block : order_) {
      const uint32_t header_around = header_of(around_[block]);
      in_loop[block] = header_around != kRoot && (in_loop[header_around] || is_loop(header_around));
      const auto give = [&](uint32_t target, uint32_t depth) {
        if (!has_depth[target]) depths_[target] = depth;
        has_depth[target] = true;
      };
      const bool header = is_header(block);
      const uint32_t behind = header && !in_loop[block] ? predicates(block) : 0;
      if (header) give(cfg_.blocks()[block].merge_block, depths_[block] + behind);
      for (const uint32_t target : cfg_.successors(block)) {
        const uint32_t others =
            is_switch(block) ? behind - (behind > 0 && returns_[case_of(target)]) : 0;
        give(target, depths_[block] + header + others);
      }
    }
  }

  uint32_t header_of(uint32_t construct) const {
    return construct == kRoot || construct < count_ ? construct : around_[construct];
  }

  bool is_loop(uint32_t header) const { return cfg_.blocks()[header].merge == MergeKind::Loop; }

  const Cfg& cfg_;
  uint32_t count_;                // of blocks
  std::vector<uint32_t> around_;  // by block and by case: the innermost construct around it
  std::vector<bool> known_;
  std::vector<bool> returns_;  // by construct: whether it contains a return
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
