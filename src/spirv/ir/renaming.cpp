#include "spirv/ir/renaming.h"

#include <cstring>
#include <span>

namespace tally::spirv {
namespace {

// The instruction with another literal string at operand `index`, which its first words precede.
std::vector<uint32_t> with_literal(const Instruction& instruction, size_t index,
                                   std::string_view text) {
  const std::span<const uint32_t> words = instruction.words();
  const size_t before = words.size() - instruction.operand_count() + index;
  std::vector<uint32_t> made(words.begin(), words.begin() + static_cast<ptrdiff_t>(before));
  std::vector<uint32_t> literal(text.size() / sizeof(uint32_t) + 1);
  std::memcpy(literal.data(), text.data(), text.size());
  made.insert(made.end(), literal.begin(), literal.end());
  const auto rest = instruction.operands().subspan(instruction.after_string(index));
  made.insert(made.end(), rest.begin(), rest.end());
  made[0] = static_cast<uint32_t>(made.size()) << spv::WordCountShift |
            static_cast<uint32_t>(instruction.opcode());
  return made;
}

// The module with other words for the instructions for which `change` returns some.
template <typename Change>
std::vector<uint32_t> with_changes(const Module& module, Change change) {
  const std::span<const uint32_t> words = module.words();
  std::vector<uint32_t> result(words.begin(), words.begin() + kHeaderWords);
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    const std::vector<uint32_t> changed = change(i, instruction);
    const std::span<const uint32_t> used = changed.empty() ? instruction.words() : changed;
    result.insert(result.end(), used.begin(), used.end());
  }
  return result;
}

}  // namespace

std::vector<uint32_t> with_entry_point_name(const Module& module, const EntryPoint& entry,
                                            std::string_view name) {
  return with_changes(module, [&](uint32_t i, const Instruction& instruction) {
    return i == entry.instruction ? with_literal(instruction, 2, name) : std::vector<uint32_t>();
  });
}

std::vector<uint32_t> with_string(const Module& module, std::string_view name,
                                  std::string_view new_name) {
  return with_changes(module, [&](uint32_t, const Instruction& instruction) {
    const bool is_it =
        instruction.opcode() == spv::Op::OpString && instruction.string(0, name.size() + 1) == name;
    return is_it ? with_literal(instruction, 0, new_name) : std::vector<uint32_t>();
  });
}

}  // namespace tally::spirv
