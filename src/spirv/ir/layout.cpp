#include "spirv/ir/layout.h"

#include <algorithm>

#include "spirv/ir/opcode.h"

namespace tally::spirv {
namespace {

// The section of an instruction outside of functions. Sections to which edits never add belong to
// the preceding one.
Section section_of(spv::Op opcode) {
  switch (opcode) {
    case spv::Op::OpCapability:
      return Section::Capability;
    case spv::Op::OpExtension:
      return Section::Extension;
    case spv::Op::OpExtInstImport:
      return Section::Import;
    case spv::Op::OpMemoryModel:
    case spv::Op::OpEntryPoint:
      return Section::EntryPoint;
    case spv::Op::OpExecutionMode:
    case spv::Op::OpExecutionModeId:
      return Section::ExecutionMode;
    case spv::Op::OpString:
    case spv::Op::OpSource:
    case spv::Op::OpSourceContinued:
    case spv::Op::OpSourceExtension:
    case spv::Op::OpName:
    case spv::Op::OpMemberName:
      return Section::Name;
    case spv::Op::OpModuleProcessed:
    case spv::Op::OpDecorate:
    case spv::Op::OpDecorateId:
    case spv::Op::OpDecorateString:
    case spv::Op::OpMemberDecorate:
    case spv::Op::OpMemberDecorateString:
    case spv::Op::OpDecorationGroup:
    case spv::Op::OpGroupDecorate:
    case spv::Op::OpGroupMemberDecorate:
      return Section::Decoration;
    default:
      return Section::Global;
  }
}

// The end of the types, constants and variables: before the first function and its OpLine.
uint32_t globals_end(const Module& module) {
  if (module.functions().empty()) return static_cast<uint32_t>(module.instruction_count());
  uint32_t end = module.functions().front().begin;
  while (end > 0 && is_line(module.instruction(end - 1).opcode())) --end;
  return end;
}

bool is_variable(spv::Op opcode) {
  return opcode == spv::Op::OpVariable || opcode == newer::OpUntypedVariableKHR;
}

}  // namespace

SectionEnds section_ends(const Module& module) {
  SectionEnds ends{};
  const uint32_t globals = globals_end(module);
  for (uint32_t index = 0; index < globals; ++index) {
    ends[static_cast<size_t>(section_of(module.instruction(index).opcode()))] = index + 1;
  }
  for (size_t section = 1; section < kSectionCount; ++section) {
    ends[section] = std::max(ends[section], ends[section - 1]);
  }
  ends[static_cast<size_t>(Section::Global)] = globals;
  ends[static_cast<size_t>(Section::Function)] = static_cast<uint32_t>(module.instruction_count());
  return ends;
}

uint32_t first_insertion(const Module& module, const BlockRange& block) {
  uint32_t insertion = block.begin + 1;
  for (uint32_t index = block.begin + 1; index < block.end; ++index) {
    const spv::Op opcode = module.instruction(index).opcode();
    if (opcode == spv::Op::OpPhi || is_variable(opcode)) {
      insertion = index + 1;
    } else if (!is_line(opcode) && opcode != spv::Op::OpExtInst) {
      break;
    }
  }
  return insertion;
}

}  // namespace tally::spirv
