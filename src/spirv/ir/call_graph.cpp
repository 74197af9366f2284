#include "spirv/ir/call_graph.h"

#include <algorithm>
#include <bit>

#include "spirv/ir/newer_enums.h"

namespace tally::spirv {
namespace {

// The functions that decode what OpCooperativeMatrixLoadTensorNV reads, by element and by vector.
// The memory operands precede the tensor operands. Each is a mask, then one id for each set bit.
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

}  // namespace

CalledFunctions called_functions(const Instruction& instruction) {
  const spv::Op opcode = instruction.opcode();
  if (opcode == spv::Op::OpFunctionCall) return {instruction.operand(0)};
  if (opcode == newer::OpCooperativeMatrixPerElementOpNV) return {instruction.operand(1)};
  if (opcode == newer::OpCooperativeMatrixReduceNV) return {instruction.operand(2)};
  if (opcode == newer::OpCooperativeMatrixLoadTensorNV) return decode_functions(instruction);
  return {};
}

CallGraph::CallGraph(uint32_t function_count, std::vector<Call> calls)
    : first_(function_count + size_t{1}) {
  const auto ends = [](const Call& call) { return std::pair(call.caller, call.callee); };
  std::vector<uint32_t> called_by_matrices;
  for (const Call& call : calls) {
    if (call.by_matrix) called_by_matrices.push_back(call.callee);
  }
  std::ranges::sort(calls, {}, ends);
  const auto same_ends = [&](const Call& a, const Call& b) { return ends(a) == ends(b); };
  calls.erase(std::unique(calls.begin(), calls.end(), same_ends), calls.end());
  for (const Call& call : calls) {
    ++first_[call.caller + 1];
    callees_.push_back(call.callee);
  }
  for (size_t function = 0; function < function_count; ++function) {
    first_[function + 1] += first_[function];
  }
  called_by_matrices_ = flood(std::move(called_by_matrices));
}

// Marks functions and all that they may call.
std::vector<bool> CallGraph::flood(std::vector<uint32_t> open) const {
  std::vector<bool> seen(function_count());
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

std::vector<uint32_t> CallGraph::reachable_from(uint32_t function) const {
  if (function == kNone) return {};
  const std::vector<bool> seen = flood({function});
  std::vector<uint32_t> reached;
  for (uint32_t index = 0; index < seen.size(); ++index) {
    if (seen[index]) reached.push_back(index);
  }
  return reached;
}

std::vector<uint32_t> CallGraph::callees_first(uint32_t function) const {
  if (function == kNone) return {};
  struct Visit {
    uint32_t function;
    size_t next;  // of its callees
  };
  std::vector<bool> seen(function_count());
  std::vector<uint32_t> order;
  std::vector<Visit> open = {{function, 0}};
  seen[function] = true;
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
