// The call graph of a module. Functions are indices into Module::functions().
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "spirv/ir/instruction.h"

namespace tally::spirv {

// The ids of the functions that an instruction calls; 0 for none.
struct CalledFunctions {
  uint32_t first = 0, second = 0;
};
CalledFunctions called_functions(const Instruction& instruction);

class CallGraph {
 public:
  struct Call {
    uint32_t caller, callee;
    bool by_matrix = false;  // by a cooperative matrix instruction
  };

  CallGraph() = default;
  CallGraph(uint32_t function_count, std::vector<Call> calls);

  // Each once, ascending.
  std::span<const uint32_t> callees(uint32_t function) const;
  // True if a cooperative matrix instruction calls the function or one of its callers. Such a
  // function runs at least once for each element; the implementation chooses how often and in which
  // invocation (SPV_NV_cooperative_matrix2).
  bool is_called_by_matrices(uint32_t function) const { return called_by_matrices_[function]; }
  // The function and all that it may call, ascending, which is module order. Empty for kNone.
  std::vector<uint32_t> reachable_from(uint32_t function) const;
  // The same functions, each after its callees. In a recursion, after some of its callees.
  std::vector<uint32_t> callees_first(uint32_t function) const;

 private:
  size_t function_count() const { return first_.empty() ? 0 : first_.size() - 1; }
  std::vector<bool> flood(std::vector<uint32_t> open) const;

  std::vector<uint32_t> first_;  // by function, and the end: index into callees_
  std::vector<uint32_t> callees_;
  std::vector<bool> called_by_matrices_;
};

}  // namespace tally::spirv
