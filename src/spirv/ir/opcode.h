// The properties of every SPIR-V opcode: its name, its layout, its operands, and its cost rule.
#pragma once

#include <spirv/unified1/spirv.hpp11>

#include <array>
#include <cstdint>
#include <string_view>

namespace tally::spirv::newer {

// Enumerants of the SPIR-V registry that the installed headers (1.3.239) do not have.

inline constexpr auto OpTypeUntypedPointerKHR = static_cast<spv::Op>(4417);
inline constexpr auto OpUntypedVariableKHR = static_cast<spv::Op>(4418);
inline constexpr auto OpUntypedAccessChainKHR = static_cast<spv::Op>(4419);
inline constexpr auto OpUntypedInBoundsAccessChainKHR = static_cast<spv::Op>(4420);
inline constexpr auto OpUntypedPtrAccessChainKHR = static_cast<spv::Op>(4423);
inline constexpr auto OpUntypedInBoundsPtrAccessChainKHR = static_cast<spv::Op>(4424);
inline constexpr auto OpExtInstWithForwardRefsKHR = static_cast<spv::Op>(4433);
inline constexpr auto OpTypeCooperativeMatrixKHR = static_cast<spv::Op>(4456);
inline constexpr auto OpCooperativeMatrixLengthKHR = static_cast<spv::Op>(4460);
inline constexpr auto OpAbortKHR = static_cast<spv::Op>(5121);
inline constexpr auto OpMemberDecorateIdEXT = static_cast<spv::Op>(5127);
inline constexpr auto OpTypeVectorIdEXT = static_cast<spv::Op>(5288);
inline constexpr auto OpCooperativeVectorMatrixMulNV = static_cast<spv::Op>(5289);
inline constexpr auto OpCooperativeVectorOuterProductAccumulateNV = static_cast<spv::Op>(5290);
inline constexpr auto OpCooperativeVectorMatrixMulAddNV = static_cast<spv::Op>(5292);
inline constexpr auto OpCooperativeVectorStoreNV = static_cast<spv::Op>(5303);
inline constexpr auto OpCooperativeMatrixReduceNV = static_cast<spv::Op>(5366);
inline constexpr auto OpCooperativeMatrixLoadTensorNV = static_cast<spv::Op>(5367);
inline constexpr auto OpCooperativeMatrixPerElementOpNV = static_cast<spv::Op>(5369);

inline constexpr auto ExecutionModeMaximallyReconvergesKHR = static_cast<spv::ExecutionMode>(6023);

inline constexpr auto StorageClassTileImageEXT = static_cast<spv::StorageClass>(4172);
inline constexpr auto StorageClassNodePayloadAMDX = static_cast<spv::StorageClass>(5068);
inline constexpr auto StorageClassHitObjectAttributeEXT = static_cast<spv::StorageClass>(5411);

}  // namespace tally::spirv::newer

namespace tally::spirv {

// How cost.cpp counts an instruction.
enum class CostRule : uint8_t {
  None,  // not executed: declarations, labels, merges, debug information
  Arithmetic,
  Comparison,
  Division,
  Product,
  IntegerDot,
  Logic,
  Conversion,
  Derivative,
  Move,
  Address,
  Load,
  Store,
  CopyMemory,
  TensorRead,
  TensorWrite,
  BuiltIn,
  Atomic,
  TextureSample,
  TextureGather,
  TextureFetch,
  ImageLoad,
  ImageStore,
  ResourceQuery,
  Emit,
  ControlFlow,
  Barrier,
  Subgroup,
  SubgroupVote,
  RayTraversal,
  RayAccess,
  MatrixMulAdd,
  Matrix,
  ExtInst,
  Other,
};

// The type and result ids of an instruction, and its minimum length. An unknown opcode has no
// ids, a minimum of one word and the rule Other.
struct OpcodeLayout {
  bool known = false;
  bool has_type = false;
  bool has_result = false;
  uint8_t min_words = 1;
  CostRule cost = CostRule::Other;
  // Which operands after type and result are ids, wherever that depends on the opcode alone: bit n
  // for operand n, bit 15 also for all behind it.
  uint16_t ids = 0;

  constexpr bool is_id(size_t operand) const { return ids >> (operand < 15 ? operand : 15) & 1; }
};

namespace detail {
inline constexpr size_t kLayoutCount = 8192;
extern const std::array<OpcodeLayout, kLayoutCount> kLayouts;
}  // namespace detail

inline OpcodeLayout opcode_layout(spv::Op opcode) {
  const auto number = static_cast<uint32_t>(opcode);
  return number < detail::kLayoutCount ? detail::kLayouts[number] : OpcodeLayout{};
}

// "OpIAdd"; empty if unknown.
std::string_view opcode_name(spv::Op opcode);

// The kinds of its operands after type and result, in the grammar's words: "IdRef MemoryAccess?".
std::string_view opcode_operands(spv::Op opcode);

// Ends a block: branches, returns, kills, and calls that do not return.
bool is_terminator(spv::Op opcode);

// May end the invocation or demote it to a helper, without being a terminator.
bool ends_invocation_inside_block(spv::Op opcode);
// May end the invocation or demote it: those, and the terminators that end it.
bool ends_invocation(spv::Op opcode);

// OpLine, OpNoLine and OpNop may occur anywhere and do nothing.
inline bool is_line(spv::Op opcode) {
  return opcode == spv::Op::OpLine || opcode == spv::Op::OpNoLine || opcode == spv::Op::OpNop;
}

// Operands in the SPIR-V registry's grammar: the enumerants of their kinds, and the
// instructions of extended sets. Kinds of operands are named as there; a text of several separates
// them by spaces, and adds "?" to what may be missing and "*" to what may repeat.

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
