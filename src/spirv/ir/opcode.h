// The properties of every SPIR-V opcode: its name, its layout, its operands, and its cost rule.
#pragma once

#include <array>
#include <cstdint>
#include <spirv/unified1/spirv.hpp11>
#include <string_view>

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

}  // namespace tally::spirv
