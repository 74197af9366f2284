#include "spirv/analysis/side_effects.h"

#include "spirv/analysis/discards.h"

namespace tally::spirv {
namespace {

using spv::Op;
using spv::StorageClass;

// Memory that is private to the invocation.
bool is_own_memory(const Module& module, uint32_t pointer) {
  const auto type = module.definition(module.type_of(pointer));
  if (!type || type->opcode() != Op::OpTypePointer) return false;
  switch (static_cast<StorageClass>(type->operand(0))) {
    case StorageClass::Function:
    case StorageClass::Private:
    case StorageClass::Output:
      return true;
    default:
      return false;
  }
}

constexpr bool is_between(Op opcode, Op first, Op last) {
  return opcode >= first && opcode <= last;
}

bool is_atomic_write(Op opcode) {
  return is_between(opcode, Op::OpAtomicStore, Op::OpAtomicXor) ||
         is_between(opcode, Op::OpAtomicFlagTestAndSet, Op::OpAtomicFlagClear);
}

// Instructions of extensions that have no side effects. All others may have some.
bool is_harmless_extension(Op opcode) {
  return is_between(opcode, Op::OpSDot, Op::OpSUDotAccSat) ||
         is_between(opcode, Op::OpRayQueryInitializeKHR, Op::OpRayQueryGetIntersectionTypeKHR) ||
         is_between(opcode, Op::OpRayQueryGetRayTMinKHR,
                    Op::OpRayQueryGetIntersectionWorldToObjectKHR) ||
         opcode == Op::OpReadClockKHR || opcode == Op::OpIsHelperInvocationEXT;
}

}  // namespace

bool has_side_effect(const Module& module, const Instruction& instruction) {
  const Op opcode = instruction.opcode();
  switch (opcode) {
    case Op::OpStore:
    case Op::OpCopyMemory:
    case Op::OpCopyMemorySized:
      return !is_own_memory(module, instruction.operand(0));
    case Op::OpImageWrite:
    case Op::OpImageTexelPointer:
      return true;
    default:
      break;
  }
  if (is_discard(opcode)) return false;
  if (is_atomic_write(opcode)) return true;
  constexpr Op kLastOfCore = Op::OpCopyLogical;
  return opcode > kLastOfCore && !is_harmless_extension(opcode);
}

}  // namespace tally::spirv
