#include "spirv/cost.h"

#include <limits>

namespace tally::spirv {

void InstructionMix::add(CostClass cost, uint64_t count) {
  uint64_t& sum = counts_[static_cast<size_t>(cost)];
  sum = count > std::numeric_limits<uint64_t>::max() - sum ? std::numeric_limits<uint64_t>::max()
                                                           : sum + count;
}

InstructionMix& InstructionMix::operator+=(const InstructionMix& other) {
  for (size_t index = 0; index < kCostClassCount; ++index) {
    add(static_cast<CostClass>(index), other.counts_[index]);
  }
  return *this;
}

InstructionMix cost_of(const Module&, const Instruction& instruction) {
  InstructionMix mix;
  if (is_line(instruction.opcode()) || instruction.opcode() == spv::Op::OpLabel) return mix;
  mix.add(CostClass::Instruction);
  return mix;
}

}  // namespace tally::spirv
