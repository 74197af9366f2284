#include "spirv/ir/instruction.h"

#include <algorithm>

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

}  // namespace tally::spirv
