// A view of one instruction in the words of a module, valid as long as the words. Words beyond its
// end read as 0, so that short instructions of a hostile module are harmless.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "spirv/ir/opcode.h"

namespace tally::spirv {

inline constexpr uint32_t kNone = ~0u;  // no index, no id

class Instruction {
 public:
  Instruction() = default;
  // `words` is exactly the instruction, its first word included and at least one; `offset` its
  // place in the module.
  Instruction(std::span<const uint32_t> words, uint32_t offset);

  spv::Op opcode() const { return static_cast<spv::Op>(words_[0] & spv::OpCodeMask); }
  std::span<const uint32_t> words() const { return words_; }
  size_t word_count() const { return words_.size(); }
  uint32_t offset() const { return offset_; }
  uint32_t type_id() const { return has_type_ ? word(1) : 0; }
  uint32_t result_id() const { return has_result_ ? word(has_type_ ? 2 : 1) : 0; }

  uint32_t word(size_t index) const { return index < words_.size() ? words_[index] : 0; }

  // The words after type and result ids, operand 0 first.
  std::span<const uint32_t> operands() const;
  uint32_t operand(size_t index) const { return word(first_operand() + index); }
  size_t operand_count() const { return operands().size(); }

  // The literal string that begins at operand `index`, cut after `limit` bytes. A string without
  // terminator ends with the instruction.
  std::string string(size_t index, size_t limit = ~size_t{0}) const;
  // The index of the operand after that string.
  size_t after_string(size_t index) const;

 private:
  size_t first_operand() const { return 1u + has_type_ + has_result_; }

  std::span<const uint32_t> words_;
  uint32_t offset_ = 0;
  bool has_type_ = false;
  bool has_result_ = false;
};

}  // namespace tally::spirv
