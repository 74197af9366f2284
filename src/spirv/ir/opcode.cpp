#include "spirv/ir/opcode.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace tally::spirv {
namespace {

enum class Ids : uint8_t { NoResult, Result, TypeResult };

struct Row {
  uint16_t number;
  std::string_view name, operands;
  OpcodeLayout layout;
};

// Operands whose number of words varies, or that others follow.
constexpr std::string_view kLong[] = {"LiteralString",
                                      "LiteralContextDependentNumber",
                                      "LiteralSpecConstantOpInteger",
                                      "ImageOperands",
                                      "MemoryAccess",
                                      "TensorAddressingOperands",
                                      "CooperativeMatrixOperands",
                                      "TensorOperands",
                                      "ExecutionMode",
                                      "Decoration",
                                      "LoopControl"};

constexpr bool is_long(std::string_view kind) {
  return kind.starts_with("Pair") || std::ranges::find(kLong, kind) != std::end(kLong);
}

// With pointers, since compilers limit the steps of constant expressions.
constexpr uint16_t ids_among(std::string_view operands) {
  uint32_t ids = 0;
  const char* begin = operands.data();
  const char* const end = begin + operands.size();
  for (uint32_t place = 0; begin != end && place < 15; ++place) {
    const char* space = begin;
    while (space != end && *space != ' ') ++space;
    const bool repeats = space[-1] == '*';
    const char* const kind_end = repeats || space[-1] == '?' ? space - 1 : space;
    if (begin[0] == 'I' && begin[1] == 'd') {
      ids |= repeats ? 0xffffu << place : 1u << place;
    } else if (is_long({begin, kind_end})) {
      break;
    }
    if (repeats) break;
    begin = space == end ? end : space + 1;
  }
  return static_cast<uint16_t>(ids);
}

constexpr Row row(uint16_t number, std::string_view name, Ids ids, uint8_t min_words, CostRule cost,
                  std::string_view operands) {
  return {
      number,
      name,
      operands,
      {true, ids == Ids::TypeResult, ids != Ids::NoResult, min_words, cost, ids_among(operands)}};
}

constexpr Row kRows[] = {
#define OPCODE(number, name, ids, min_words, cost, operands) \
  row(number, "Op" #name, Ids::ids, min_words, CostRule::cost, operands),
#include "spirv/ir/opcode_table.inc"
#undef OPCODE
};

constexpr bool rows_ascend() {
  for (size_t index = 1; index < std::size(kRows); ++index) {
    if (kRows[index - 1].number >= kRows[index].number) return false;
  }
  return true;
}
static_assert(rows_ascend());
static_assert(std::end(kRows)[-1].number < detail::kLayoutCount);

constexpr std::array<OpcodeLayout, detail::kLayoutCount> by_number() {
  std::array<OpcodeLayout, detail::kLayoutCount> layouts{};
  for (const Row& one : kRows) layouts[one.number] = one.layout;
  return layouts;
}

}  // namespace

constexpr std::array<OpcodeLayout, detail::kLayoutCount> detail::kLayouts = by_number();

static const Row* find_row(spv::Op opcode) {
  const auto number = static_cast<uint32_t>(opcode);
  const Row* found = std::ranges::lower_bound(kRows, number, {}, &Row::number);
  return found != std::end(kRows) && found->number == number ? found : nullptr;
}

std::string_view opcode_name(spv::Op opcode) {
  const Row* row = find_row(opcode);
  return row == nullptr ? std::string_view{} : row->name;
}

std::string_view opcode_operands(spv::Op opcode) {
  const Row* row = find_row(opcode);
  return row == nullptr ? std::string_view{} : row->operands;
}

bool is_terminator(spv::Op opcode) {
  switch (opcode) {
    case spv::Op::OpBranch:
    case spv::Op::OpBranchConditional:
    case spv::Op::OpSwitch:
    case spv::Op::OpKill:
    case spv::Op::OpReturn:
    case spv::Op::OpReturnValue:
    case spv::Op::OpUnreachable:
    case spv::Op::OpTerminateInvocation:
    case spv::Op::OpIgnoreIntersectionKHR:
    case spv::Op::OpTerminateRayKHR:
    case spv::Op::OpEmitMeshTasksEXT:
      return true;
    default:
      return opcode == newer::OpAbortKHR;
  }
}

bool ends_invocation_inside_block(spv::Op opcode) {
  return opcode == spv::Op::OpDemoteToHelperInvocation ||
         opcode == spv::Op::OpReportIntersectionKHR || opcode == spv::Op::OpIgnoreIntersectionNV ||
         opcode == spv::Op::OpTerminateRayNV;
}

bool ends_invocation(spv::Op opcode) {
  switch (opcode) {
    case spv::Op::OpKill:
    case spv::Op::OpTerminateInvocation:
    case spv::Op::OpIgnoreIntersectionKHR:
    case spv::Op::OpTerminateRayKHR:
    case spv::Op::OpEmitMeshTasksEXT:
      return true;
    default:
      return opcode == newer::OpAbortKHR || ends_invocation_inside_block(opcode);
  }
}

namespace {

constexpr Enumerant kEnumerants[] = {
#define KIND(kind, category)
#define ENUMERANT(kind, value, name, operands, extensions) \
  {#kind, value, name, operands, extensions},
#include "spirv/ir/enumerant_table.inc"
#undef ENUMERANT
#undef KIND
};

struct Kind {
  std::string_view name;
  KindOfOperand category;
};
constexpr Kind kKinds[] = {
#define KIND(kind, category) {#kind, KindOfOperand::category},
#define ENUMERANT(kind, value, name, operands, extensions)
#include "spirv/ir/enumerant_table.inc"
#undef ENUMERANT
#undef KIND
};

constexpr ExtendedInstruction kExtended[] = {
#define EXT_INST(set, number, name, operands) {set, number, name, operands},
#include "spirv/ir/ext_inst_table.inc"
#undef EXT_INST
};

constexpr auto key_of(const Enumerant& one) { return std::tuple(one.kind, one.value); }

static_assert(std::ranges::is_sorted(kEnumerants, {}, key_of));
static_assert(std::ranges::is_sorted(kKinds, {}, &Kind::name));

}  // namespace

KindOfOperand kind_of_operand(std::string_view kind) {
  const Kind* found = std::ranges::lower_bound(kKinds, kind, {}, &Kind::name);
  return found != std::end(kKinds) && found->name == kind ? found->category : KindOfOperand::Other;
}

const Enumerant* find_enumerant(std::string_view kind, uint32_t value) {
  const std::tuple key(kind, value);
  const Enumerant* found = std::ranges::lower_bound(kEnumerants, key, {}, key_of);
  return found != std::end(kEnumerants) && key_of(*found) == key ? found : nullptr;
}

const ExtendedInstruction* find_extended_instruction(std::string_view set, uint32_t number) {
  const ExtendedInstruction* begin = std::ranges::find_if(
      kExtended, [&](const ExtendedInstruction& one) { return set.starts_with(one.set); });
  if (begin == std::end(kExtended)) return nullptr;
  const ExtendedInstruction* end =
      std::find_if(begin, std::end(kExtended),
                   [&](const ExtendedInstruction& one) { return one.set != begin->set; });
  const ExtendedInstruction* found = std::lower_bound(
      begin, end, number,
      [](const ExtendedInstruction& one, uint32_t wanted) { return one.number < wanted; });
  return found != end && found->number == number ? found : nullptr;
}

}  // namespace tally::spirv
