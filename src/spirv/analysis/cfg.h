// The control-flow graph of one function, and the call graph of a module.
//
// Blocks are numbered from 0 in module order within their function; block 0 is the entry. An edge
// stands once even if a terminator names its target twice (a switch with several cases). Every
// target is a block of the same function: building fails otherwise.
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
  MergeKind merge = MergeKind::None;  // what the block is the header of
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
  // Neighbours of all blocks one after another.
  struct Edges {
    std::vector<uint32_t> first;  // one more than blocks
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

class CallGraph {
 public:
  static CallGraph build(const Module& module);

  // Indices into the module's functions(), each once, ascending. Callees that are not functions of
  // the module are left out.
  std::span<const uint32_t> callees(uint32_t function) const;
  // Whether an instruction on cooperative matrices calls it, or something that such a function
  // calls. It runs at least once for each element: how often, and in which invocation, is the
  // implementation's choice (SPV_NV_cooperative_matrix2).
  bool is_called_by_matrices(uint32_t function) const { return called_by_matrices_[function]; }
  // The function itself and all that it may call, ascending: module order. Empty if `function_id`
  // is none.
  std::vector<uint32_t> reachable_from(uint32_t function_id) const;
  // The same functions, each behind those that it calls; where functions call each other in a
  // circle, behind some of them.
  std::vector<uint32_t> callees_first(uint32_t function_id) const;

 private:
  std::vector<bool> flood(std::vector<uint32_t> open) const;

  const Module* module_ = nullptr;
  std::vector<uint32_t> first_;
  std::vector<uint32_t> callees_;
  std::vector<bool> called_by_matrices_;
};

// The labels that a terminator names, in its order, repetitions included.
std::vector<uint32_t> branch_targets(const Module& module, const Instruction& terminator);

}  // namespace tally::spirv
