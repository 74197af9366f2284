// Builds a Module from untrusted words. One pass splits them into instructions and finds
// definitions, functions, blocks and calls; the tables by id are sorted at the end. Private to
// parser.cpp.
#pragma once

#include <unordered_set>

#include "spirv/ir/module.h"

namespace tally::spirv {

class ModuleParser {
 public:
  explicit ModuleParser(std::span<const uint32_t> words) : input_(words) {}
  Result<Module> parse();

 private:
  // An id and the index of an instruction about it.
  struct Row {
    uint32_t id, instruction;
  };
  struct CallById {
    uint32_t caller;     // index of the function
    uint32_t callee_id;  // may be defined later
    bool by_matrix;
  };

  Status header();
  Status split();
  Status define(const Instruction& instruction);
  Status check_operands(const Instruction& instruction);
  Status refuse_cycles() const;
  uint32_t& definition_of(uint32_t id);
  Status structure(const Instruction& instruction);
  Status inside_function(const Instruction& instruction);
  void note_calls(const Instruction& instruction);
  void collect(const Instruction& instruction);
  void sort_tables();
  void build_call_graph();
  static Module::About sorted(std::vector<Row> rows);
  Error error_at(uint32_t offset, std::string_view what) const;
  uint32_t index() const { return static_cast<uint32_t>(module_.offsets_.size() - 1); }

  std::span<const uint32_t> input_;
  Module module_;
  bool in_function_ = false;
  bool in_block_ = false;
  std::vector<Row> names_, decorations_, execution_modes_;
  std::vector<CallById> calls_;
  std::vector<uint32_t> early_uses_;  // instructions with operands that are defined later
  std::unordered_set<uint32_t> forward_pointers_;  // ids
};

}  // namespace tally::spirv
