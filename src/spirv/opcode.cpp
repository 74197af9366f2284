#define SPV_ENABLE_UTILITY_CODE
#include <spirv/unified1/spirv.hpp11>

#include "spirv/opcode.h"

namespace tally::spirv {

OpcodeLayout opcode_layout(spv::Op opcode) {
  OpcodeLayout layout;
  spv::HasResultAndType(opcode, &layout.has_result, &layout.has_type);
  layout.known = layout.has_result;
  layout.min_words = static_cast<uint8_t>(1 + layout.has_result + layout.has_type);
  return layout;
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
      return false;
  }
}

bool is_line(spv::Op opcode) {
  return opcode == spv::Op::OpLine || opcode == spv::Op::OpNoLine || opcode == spv::Op::OpNop;
}

}  // namespace tally::spirv
