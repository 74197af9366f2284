#include "spirv/ir/instruction_builder.h"

namespace tally::spirv {

void append_instruction(std::vector<uint32_t>& words, spv::Op opcode,
                        std::span<const uint32_t> operands) {
  const size_t count = operands.size() + 1;
  words.push_back(static_cast<uint32_t>(count) << spv::WordCountShift |
                  static_cast<uint32_t>(opcode));
  words.insert(words.end(), operands.begin(), operands.end());
}

uint32_t InstructionBuilder::emit(spv::Op opcode, uint32_t type,
                                  std::span<const uint32_t> operands) {
  const uint32_t result = new_id();
  emit_as(result, opcode, type, operands);
  return result;
}

uint32_t InstructionBuilder::emit(spv::Op opcode, uint32_t type,
                                  std::initializer_list<uint32_t> operands) {
  return emit(opcode, type, std::span(operands.begin(), operands.size()));
}

void InstructionBuilder::emit(spv::Op opcode, std::span<const uint32_t> operands) {
  append_instruction(words_, opcode, operands);
}

void InstructionBuilder::emit(spv::Op opcode, std::initializer_list<uint32_t> operands) {
  emit(opcode, std::span(operands.begin(), operands.size()));
}

void InstructionBuilder::emit_as(uint32_t result, spv::Op opcode, uint32_t type,
                                 std::span<const uint32_t> operands) {
  words_.push_back(static_cast<uint32_t>(operands.size() + 3) << spv::WordCountShift |
                   static_cast<uint32_t>(opcode));
  words_.push_back(type);
  words_.push_back(result);
  words_.insert(words_.end(), operands.begin(), operands.end());
}

uint32_t InstructionBuilder::load(uint32_t type, uint32_t pointer) {
  return emit(spv::Op::OpLoad, type, {pointer});
}

uint32_t InstructionBuilder::load(uint32_t type, uint32_t pointer,
                                  std::initializer_list<uint32_t> memory_operands) {
  std::vector<uint32_t> operands = {pointer};
  operands.insert(operands.end(), memory_operands.begin(), memory_operands.end());
  return emit(spv::Op::OpLoad, type, operands);
}

void InstructionBuilder::store(uint32_t pointer, uint32_t value) {
  emit(spv::Op::OpStore, {pointer, value});
}

void InstructionBuilder::store(uint32_t pointer, uint32_t value,
                               std::initializer_list<uint32_t> memory_operands) {
  std::vector<uint32_t> operands = {pointer, value};
  operands.insert(operands.end(), memory_operands.begin(), memory_operands.end());
  emit(spv::Op::OpStore, operands);
}

uint32_t InstructionBuilder::access_chain(uint32_t pointer_type, uint32_t base,
                                          std::initializer_list<uint32_t> indices) {
  std::vector<uint32_t> operands = {base};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return emit(spv::Op::OpAccessChain, pointer_type, operands);
}

uint32_t InstructionBuilder::call(uint32_t type, uint32_t function,
                                  std::initializer_list<uint32_t> arguments) {
  std::vector<uint32_t> operands = {function};
  operands.insert(operands.end(), arguments.begin(), arguments.end());
  return emit(spv::Op::OpFunctionCall, type, operands);
}

uint32_t InstructionBuilder::phi(uint32_t type, std::initializer_list<Incoming> incoming) {
  std::vector<uint32_t> operands;
  for (const Incoming& edge : incoming) {
    operands.push_back(edge.value);
    operands.push_back(edge.parent);
  }
  return emit(spv::Op::OpPhi, type, operands);
}

void InstructionBuilder::label(uint32_t id) {
  emit(spv::Op::OpLabel, {id});
  last_label_ = id;
}

void InstructionBuilder::branch(uint32_t target) { emit(spv::Op::OpBranch, {target}); }

void InstructionBuilder::branch_if(uint32_t condition, uint32_t if_true, uint32_t if_false) {
  emit(spv::Op::OpBranchConditional, {condition, if_true, if_false});
}

void InstructionBuilder::selection_merge(uint32_t merge) {
  emit(spv::Op::OpSelectionMerge, {merge, 0});
}

void InstructionBuilder::loop_merge(uint32_t merge, uint32_t continue_target) {
  emit(spv::Op::OpLoopMerge, {merge, continue_target, 0});
}

}  // namespace tally::spirv
