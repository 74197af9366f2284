#include "spirv/ir/module.h"

#include <algorithm>
#include <bit>

#include "spirv/ir/opcode.h"

namespace tally::spirv {

Instruction::Instruction(std::span<const uint32_t> words, uint32_t offset)
    : words_(words), offset_(offset) {
  const OpcodeLayout layout = opcode_layout(opcode());
  has_type_ = layout.has_type;
  has_result_ = layout.has_result;
}

std::span<const uint32_t> Instruction::operands() const {
  return words_.subspan(std::min(first_operand(), words_.size()));
}

size_t Instruction::after_string(size_t index) const {
  // A word with a zero byte is the last.
  const auto is_last = [](uint32_t word) {
    return ((word - 0x01010101) & ~word & 0x80808080) != 0;
  };
  size_t at = first_operand() + index;
  while (at < words_.size() && !is_last(words_[at])) ++at;
  return std::min(at + 1, words_.size()) - first_operand();
}

std::string Instruction::string(size_t index, size_t limit) const {
  std::string text;
  for (size_t at = first_operand() + index; at < words_.size(); ++at) {
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      const char byte = static_cast<char>(words_[at] >> shift);
      if (byte == '\0' || text.size() == limit) return text;
      text.push_back(byte);
    }
  }
  return text;
}

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

Instruction Module::instruction(size_t index) const {
  const uint32_t begin = offsets_[index];
  return Instruction(std::span(words_).subspan(begin, offsets_[index + 1] - begin), begin);
}

std::optional<Instruction> Module::definition(uint32_t id) const {
  const uint32_t index = definition_index(id);
  if (index == kNone) return std::nullopt;
  return instruction(index);
}

spv::Op Module::opcode_of(uint32_t id) const {
  const uint32_t index = definition_index(id);
  if (index == kNone) return spv::Op::OpNop;
  return static_cast<spv::Op>(words_[offsets_[index]] & spv::OpCodeMask);
}

uint32_t Module::type_of(uint32_t id) const {
  const uint32_t index = definition_index(id);
  return index == kNone ? 0 : instruction(index).type_id();
}

bool Module::is_global_variable(uint32_t id) const {
  const uint32_t index = definition_index(id);
  const bool is_global = functions_.empty() || index < functions_.front().begin;
  if (index == kNone || !is_global) return false;
  const spv::Op opcode = opcode_of(id);
  return opcode == spv::Op::OpVariable || opcode == newer::OpUntypedVariableKHR;
}

const EntryPoint* Module::find_entry_point(spv::ExecutionModel model, std::string_view name) const {
  for (const EntryPoint& entry : entry_points_) {
    if (entry.model == model && entry.name == name) return &entry;
  }
  return nullptr;
}

uint32_t Module::function_index(uint32_t function_id) const {
  const uint32_t definition = definition_index(function_id);
  if (definition == kNone) return kNone;
  const auto found =
      std::lower_bound(functions_.begin(), functions_.end(), definition,
                       [](const Function& function, uint32_t at) { return function.begin < at; });
  if (found == functions_.end() || found->begin != definition) return kNone;
  return static_cast<uint32_t>(found - functions_.begin());
}

std::string Module::name_of(uint32_t id) const {
  const std::span<const uint32_t> found = names_.of(id);
  return found.empty() ? std::string() : instruction(found.front()).string(1);
}

std::span<const uint32_t> Module::About::of(uint32_t id) const {
  const auto [begin, end] = std::equal_range(ids.begin(), ids.end(), id);
  return std::span(instructions)
      .subspan(static_cast<size_t>(begin - ids.begin()), static_cast<size_t>(end - begin));
}

std::optional<uint32_t> Module::decoration(uint32_t id, spv::Decoration decoration) const {
  for (const uint32_t index : decorations_of(id)) {
    const Instruction found = instruction(index);
    if (found.opcode() == spv::Op::OpDecorate &&
        found.operand(1) == static_cast<uint32_t>(decoration)) {
      return found.operand(2);
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> Module::member_decoration(uint32_t struct_id, uint32_t member,
                                                  spv::Decoration decoration) const {
  for (const uint32_t index : decorations_of(struct_id)) {
    const Instruction found = instruction(index);
    if (found.opcode() == spv::Op::OpMemberDecorate && found.operand(1) == member &&
        found.operand(2) == static_cast<uint32_t>(decoration)) {
      return found.operand(3);
    }
  }
  return std::nullopt;
}

bool Module::decorates_in_groups() const {
  for (size_t index = 0; index < instruction_count(); ++index) {
    const spv::Op opcode = instruction(index).opcode();
    if (opcode == spv::Op::OpGroupDecorate || opcode == spv::Op::OpGroupMemberDecorate) return true;
    if (opcode == spv::Op::OpFunction) return false;
  }
  return false;
}

bool Module::has_spec_id(uint32_t spec_id) const {
  return std::ranges::any_of(decorations(), [&](uint32_t index) {
    const Instruction found = instruction(index);
    return found.opcode() == spv::Op::OpDecorate &&
           found.operand(1) == static_cast<uint32_t>(spv::Decoration::SpecId) &&
           found.operand(2) == spec_id;
  });
}

bool Module::has_capability(spv::Capability capability) const {
  return std::find(capabilities_.begin(), capabilities_.end(), static_cast<uint32_t>(capability)) !=
         capabilities_.end();
}

bool Module::has_extension(std::string_view name) const {
  return std::any_of(extensions_.begin(), extensions_.end(),
                     [&](uint32_t index) { return instruction(index).string(0) == name; });
}

uint32_t Module::ext_inst_import(std::string_view name) const {
  for (const Import& import : imports_) {
    if (instruction(import.instruction).string(0) == name) return import.id;
  }
  return 0;
}

ExtInstSet Module::ext_inst_set(uint32_t import_id) const {
  const uint32_t index = definition_index(import_id);
  const auto found = std::ranges::lower_bound(imports_, index, {}, &Import::instruction);
  return found == imports_.end() || found->instruction != index ? ExtInstSet::None : found->set;
}

uint32_t selector_words(const Module& module, uint32_t selector) {
  const std::optional<Instruction> type = module.definition(module.type_of(selector));
  return type && type->opcode() == spv::Op::OpTypeInt && type->operand(0) > 32 ? 2 : 1;
}

}  // namespace tally::spirv
