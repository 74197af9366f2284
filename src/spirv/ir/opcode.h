// What we know of every SPIR-V opcode without looking at a module: its name, its layout, and by
// which rule it costs.
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

// Where an instruction's type and result ids stand, and how short it may be. An opcode that we do
// not know has no ids, a minimum of one word and the rule Other.
struct OpcodeLayout {
  bool known = false;
  bool has_type = false;
  bool has_result = false;
  uint8_t min_words = 1;
  CostRule cost = CostRule::Other;
};

namespace detail {
inline constexpr size_t kLayoutCount = 8192;
extern const std::array<OpcodeLayout, kLayoutCount> kLayouts;
}  // namespace detail

inline OpcodeLayout opcode_layout(spv::Op opcode) {
  const auto number = static_cast<uint32_t>(opcode);
  return number < detail::kLayoutCount ? detail::kLayouts[number] : OpcodeLayout{};
}

// "OpIAdd"; empty if we do not know it.
std::string_view opcode_name(spv::Op opcode);

// Ends a block: branches, returns, kills, and the calls that do not come back.
bool is_terminator(spv::Op opcode);

// May end the invocation, or make it a helper, in the middle of a block.
bool ends_invocation_inside_block(spv::Op opcode);
// Ends the invocation or may: those, and the terminators that do.
bool ends_invocation(spv::Op opcode);

// OpLine, OpNoLine and OpNop may stand anywhere and do nothing.
inline bool is_line(spv::Op opcode) {
  return opcode == spv::Op::OpLine || opcode == spv::Op::OpNoLine || opcode == spv::Op::OpNop;
}

}  // namespace tally::spirv
