// The branches of an entry point: its blocks that end in a conditional branch or a switch with at
// least two different targets. Blocks have the public numbers of the BlockMap. Targets are numbered
// from 0 in the order of the instruction, each block once: of a conditional branch first the one of
// a true condition, of a switch first the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spirv/analysis/block_map.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

struct BranchTarget {
  uint32_t block = 0;       // where it leads
  std::string label;        // "true", "false", "default", "case 1, 2"
  bool sole_entry = false;  // no other block branches there
};

struct Branch {
  uint32_t block = 0;  // that ends in it
  bool is_switch = false;
  std::optional<SourceLocation> location;  // of the branch instruction
  std::vector<BranchTarget> targets;
};

// In the order of their blocks. Without the functions that cannot be counted.
std::vector<Branch> branches_of(const Module& module, const BlockMap& map);

}  // namespace tally::spirv
