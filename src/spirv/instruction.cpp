#include "spirv/instruction.h"

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

std::string Instruction::string(size_t index, size_t* next) const {
  std::string text;
  size_t at = first_operand() + index;
  for (bool open = true; open && at < words_.size(); ++at) {
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      const char byte = static_cast<char>(words_[at] >> shift);
      if (byte == '\0') {
        open = false;
        break;
      }
      text.push_back(byte);
    }
  }
  if (next != nullptr) *next = at - first_operand();
  return text;
}

}  // namespace tally::spirv
