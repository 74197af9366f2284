// The control-flow graph of one function.
//
// Blocks are numbered from 0 in module order within their function; block 0 is the entry. There is
// one edge for each target, even if a terminator names it twice (a switch with several cases).
// Building fails if a target is not a block of the same function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

enum class MergeKind : uint8_t { None, Selection, Loop };

struct CfgBlock {
  uint32_t label_id;
  uint32_t begin, end;                // instruction indices: OpLabel to terminator, both included
  spv::Op terminator;                 // the instruction at end - 1
  MergeKind merge = MergeKind::None;  // the kind of construct whose header the block is
  uint32_t merge_instruction = kNone;
  uint32_t merge_block = kNone;      // block indices
  uint32_t continue_target = kNone;  // of a loop
  bool reachable = false;            // from the function's entry along edges
};

class Cfg {
 public:
  static Result<Cfg> build(const Module& module, const Function& function);

  std::span<const CfgBlock> blocks() const { return blocks_; }
  std::span<const uint32_t> successors(uint32_t block) const { return successors_.of(block); }
  std::span<const uint32_t> predecessors(uint32_t block) const { return predecessors_.of(block); }
  // Index of the block whose OpLabel this is, or kNone.
  uint32_t block_of(uint32_t label_id) const;

 private:
  // The neighbours of all blocks, in block order.
  struct Edges {
    std::vector<uint32_t> first;  // by block, and the end
    std::vector<uint32_t> targets;
    std::span<const uint32_t> of(uint32_t block) const {
      return std::span(targets).subspan(first[block], first[block + 1] - first[block]);
    }
  };

  Status add_blocks(const Module& module, const Function& function);
  Status add_merge(const Module& module, CfgBlock& block);
  Status add_successors(const Module& module);
  void add_predecessors();
  void mark_reachable();

  std::vector<CfgBlock> blocks_;
  std::vector<uint32_t> by_label_;  // block indices sorted by label id
  Edges successors_;
  Edges predecessors_;
};

// The label that a branch always goes to because the module is fixed (Module::fixed). Cfg has the
// other targets too.
std::optional<uint32_t> only_target(const Module& module, const Instruction& terminator);

// The target labels of a terminator, in order, including repetitions.
std::vector<uint32_t> branch_targets(const Module& module, const Instruction& terminator);

}  // namespace tally::spirv
