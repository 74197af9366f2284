// Operands in the SPIR-V registry's grammar: the enumerants of their kinds, and the
// instructions of extended sets. Kinds of operands are named as there; a text of several separates
// them by spaces, and adds "?" to what may be missing and "*" to what may repeat.
#pragma once

#include <cstdint>
#include <string_view>

namespace tally::spirv {

struct Enumerant {
  std::string_view kind;
  uint32_t value;
  std::string_view name;
  std::string_view operands;    // kinds of those that follow it
  std::string_view extensions;  // that declare it, of capabilities and execution modes
};

enum class KindOfOperand : uint8_t { Other, Value, Mask };
KindOfOperand kind_of_operand(std::string_view kind);
// Null if it is not known.
const Enumerant* find_enumerant(std::string_view kind, uint32_t value);

struct ExtendedInstruction {
  std::string_view set;  // what the set's name begins with
  uint32_t number;
  std::string_view name;
  std::string_view operands;
};
// The set that a module imports under this name. Null if it is not known.
const ExtendedInstruction* find_extended_instruction(std::string_view set, uint32_t number);

// Calls visit(kind, quantifier) for each kind of a text; the quantifier is '?', '*' or 0.
template <typename Visit>
void for_each_kind(std::string_view operands, Visit&& visit) {
  while (!operands.empty()) {
    const size_t end = operands.find(' ');
    std::string_view kind = operands.substr(0, end);
    operands = end == std::string_view::npos ? std::string_view{} : operands.substr(end + 1);
    const char last = kind.back();
    const bool is_quantified = last == '?' || last == '*';
    if (is_quantified) kind.remove_suffix(1);
    visit(kind, is_quantified ? last : '\0');
  }
}

}  // namespace tally::spirv
