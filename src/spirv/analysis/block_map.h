// The public, stable numbering of the basic blocks of one entry point: block i is the i-th OpLabel
// in module order among the functions reachable from the entry point. Given the SPIR-V, it maps a
// result to its block, the block's cost and its source lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "spirv/analysis/cost.h"
#include "spirv/analysis/source_info.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

// The cost of a block's instructions from one source line, or range of lines, of one instance.
//
// An instance is a function of the module without what was inlined into it, or what was inlined for
// one call in it. An invocation executes the code of each instance as a place of its own, so a line
// ran as often as the sum over its instances. Functions have their indices as instances; the others
// follow. Without DebugInlinedAt inlined code belongs to the instance of the function that has it.
struct LineCost {
  SourceLocation location;  // its column is the first instruction's
  InstructionMix mix;
  uint32_t source_function = kNone;  // index into BlockMap::source_functions()
  uint32_t instance = 0;
};

struct Block {
  uint32_t function_id;
  uint32_t function;  // index into BlockMap::functions()
  uint32_t label_id;
  uint32_t word_begin, word_end;               // of the module: OpLabel to terminator
  std::optional<SourceLocation> location;      // of its first instruction that has one
  std::optional<SourceLocation> end_location;  // of its terminator, or of the last before it
  uint32_t end_instance = 0;                   // of end_location; see LineCost
  InstructionMix mix;                          // of the whole block
  uint32_t first_line = 0, line_count = 0;     // into BlockMap::lines()
};

struct MappedFunction {
  uint32_t id;
  std::string name;  // the name in the source if known, otherwise "%id"
  uint32_t first_block, block_count;
  // False if cooperative matrix instructions call it (CallGraph); its blocks then have no counts.
  bool is_countable = true;
};

// Code that was inlined for one call: the instance functions().size() + its index in
// inlined_calls().
struct InlinedCall {
  uint32_t caller = 0;                     // the instance with the call: a smaller number
  uint32_t source_function = kNone;        // what was inlined
  std::optional<SourceLocation> location;  // of the call
};

// A call of a function of the module.
struct MappedCall {
  uint32_t block;                          // with the instruction
  uint32_t callee;                         // index into functions()
  std::optional<SourceLocation> location;  // of the instruction
  uint32_t source_function, instance;      // of the instruction; see LineCost
};

struct GpuCompiler;  // redundancy.h

// Which costs a map has.
enum class CostDetail : uint8_t {
  All,   // all instructions
  Kept,  // also those that are left once compiled: BlockMap::kept()
};

class BlockMap {
 public:
  // `gpu`: costs once compiled are those of a compiler for a GPU.
  static Result<BlockMap> build(const Module& module, spv::ExecutionModel stage,
                                std::string_view entry_point, CostDetail detail = CostDetail::All,
                                const GpuCompiler* gpu = nullptr);

  std::span<const Block> blocks() const { return blocks_; }
  std::span<const MappedFunction> functions() const { return functions_; }
  // With their texts as compilers number the lines (source_info.h).
  std::span<const SourceFile> files() const { return files_; }
  // True if the costs may differ in pipelines that specialize the module differently.
  bool costs_depend_on_specialization() const { return costs_depend_on_specialization_; }
  // The base name of the file that the entry point's function is declared in, or of the first file
  // in the debug information if it does not say so; empty if there is none.
  std::string source_name() const;
  // The functions' names in the source, including functions that were inlined everywhere.
  std::span<const std::string> source_functions() const { return source_functions_; }
  std::span<const InlinedCall> inlined_calls() const { return inlined_calls_; }
  // In the order of their instructions.
  std::span<const MappedCall> calls() const { return calls_; }
  // The lines of a block in the order of their first occurrence, without instructions that have no
  // line.
  std::span<const LineCost> lines_of(const Block& block) const {
    return std::span(lines_).subspan(block.first_line, block.line_count);
  }

  // With CostDetail::Kept: the costs once compiled (CostModel::add_compiled) of a line, as
  // lines_of() has it, and of the instructions without a line of a block, as blocks() has it.
  const InstructionMix& kept(const LineCost& line) const {
    return kept_of_lines_[static_cast<size_t>(&line - lines_.data())];
  }
  const InstructionMix& kept_without_line(const Block& block) const {
    return kept_without_line_[static_cast<size_t>(&block - blocks_.data())];
  }
  // The sum of both.
  InstructionMix kept(const Block& block) const {
    InstructionMix mix = kept_without_line(block);
    for (const LineCost& line : lines_of(block)) mix += kept(line);
    return mix;
  }
  Residue residue(size_t instruction) const { return residues_[instruction]; }

 private:
  friend class BlockMapBuilder;

  std::vector<Block> blocks_;
  std::vector<MappedFunction> functions_;
  std::vector<SourceFile> files_;
  uint32_t main_file_ = 0;
  std::vector<std::string> source_functions_;
  std::vector<LineCost> lines_;
  std::vector<InlinedCall> inlined_calls_;
  std::vector<MappedCall> calls_;
  std::vector<InstructionMix> kept_of_lines_, kept_without_line_;  // by line; by block
  std::vector<Residue> residues_;                                  // by instruction
  bool costs_depend_on_specialization_ = false;
};

// The branches of an entry point: its blocks that end in a conditional branch or a switch with at
// least two different targets. Blocks have the public numbers of the BlockMap. Targets are numbered
// from 0 in the order of the instruction, each block once: of a conditional branch first the one of
// a true condition, of a switch first the default.

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

// The places of sites (sites.h) in a module.

struct SitePlace {
  uint32_t word_offset;
  uint32_t instruction;                    // index into the module's
  uint32_t block;                          // number in the BlockMap
  std::optional<SourceLocation> location;  // of a loop without one: of the next that has one
};

// The places of the sites with these word offsets, ascending, each once. Those that are no
// instruction of the map's functions are left out. Files are those of the map.
std::vector<SitePlace> site_places(const Module& module, const BlockMap& map,
                                   std::span<const uint32_t> word_offsets);

}  // namespace tally::spirv
