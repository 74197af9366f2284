#include "spirv/ir/opcode.h"

#include <algorithm>

#include "spirv/ir/newer_enums.h"

namespace tally::spirv {
namespace {

enum class Ids : uint8_t { NoResult, Result, TypeResult };

struct Row {
  uint16_t number;
  std::string_view name;
  OpcodeLayout layout;
};

constexpr Row row(uint16_t number, std::string_view name, Ids ids, uint8_t min_words,
                  CostRule cost) {
  return {number, name, {true, ids == Ids::TypeResult, ids != Ids::NoResult, min_words, cost}};
}

constexpr Row kRows[] = {
#define OPCODE(number, name, ids, min_words, cost) \
  row(number, "Op" #name, Ids::ids, min_words, CostRule::cost),
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

std::string_view opcode_name(spv::Op opcode) {
  const auto number = static_cast<uint32_t>(opcode);
  const Row* found = std::ranges::lower_bound(kRows, number, {}, &Row::number);
  return found != std::end(kRows) && found->number == number ? found->name : std::string_view{};
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

}  // namespace tally::spirv
