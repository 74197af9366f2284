#include "spirv/pass/output_counting.h"

namespace tally::spirv {
namespace {

using spv::ExecutionModel;
using spv::Op;

}  // namespace

bool counts_outputs(const BlockCountOptions& options) {
  const bool has_outputs = options.stage == ExecutionModel::Fragment ||
                           options.stage == ExecutionModel::Geometry ||
                           options.stage == ExecutionModel::MeshEXT;
  return options.count_outputs && has_outputs && options.counting == Counting::Private;
}

OutputCounting::OutputCounting(const CountingTools& tools, uint32_t variable)
    : context_(tools.context),
      editor_(context_.editor),
      builtins_(tools.builtins),
      u32_(editor_.type_int(32)),
      boolean_(editor_.type_bool()),
      variable_(variable) {}

void OutputCounting::begin(Code& code) {
  if (!context_.stage.has_helpers) return;
  code.store(variable_, code.emit(Op::OpBitCount, u32_, {builtins_.sample_mask(code)}));
}

void OutputCounting::leave(Code& code, const WayOut& way) {
  switch (context_.module().instruction(way.instruction).opcode()) {
    case Op::OpKill:
    case Op::OpTerminateInvocation:
    case Op::OpDemoteToHelperInvocation:
      code.store(variable_, constant(0));
      break;
    default:
      break;
  }
}

void OutputCounting::insert() {
  if (context_.stage.has_helpers) return;
  const Module& module = context_.module();
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    Code code = editor_.new_code();
    switch (instruction.opcode()) {
      case Op::OpEmitVertex:
      case Op::OpEmitStreamVertex:
        if (is_stream_0(instruction)) before_emit(code);
        break;
      case Op::OpEndPrimitive:
      case Op::OpEndStreamPrimitive:
        if (strip_ != 0 && is_stream_0(instruction)) code.store(strip_, constant(0));
        break;
      case Op::OpSetMeshOutputsEXT:
        before_set_mesh_outputs(code, instruction);
        break;
      default:
        continue;
    }
    editor_.insert_before(i, code);
  }
}

// if (++strip >= vertices of a primitive) ++primitives;
void OutputCounting::before_emit(Code& code) {
  if (strip_ == 0) {
    constexpr auto kPrivate = spv::StorageClass::Private;
    strip_ =
        editor_.new_global_variable(editor_.type_pointer(kPrivate, u32_), kPrivate, constant(0));
    editor_.add_to_interface(context_.entry, strip_);
  }
  const uint32_t vertices = code.emit(Op::OpIAdd, u32_, {code.load(u32_, strip_), constant(1)});
  code.store(strip_, vertices);
  const uint32_t completes =
      code.emit(Op::OpUGreaterThanEqual, boolean_, {vertices, constant(strip_vertices())});
  const uint32_t one = code.emit(Op::OpSelect, u32_, {completes, constant(1), constant(0)});
  code.store(variable_, code.emit(Op::OpIAdd, u32_, {code.load(u32_, variable_), one}));
}

// All invocations of the workgroup set the same numbers: one of them counts.
void OutputCounting::before_set_mesh_outputs(Code& code, const Instruction& instruction) {
  const uint32_t index = builtins_.number(code, spv::BuiltIn::LocalInvocationIndex, 1, 0);
  const uint32_t first = code.emit(Op::OpIEqual, boolean_, {index, constant(0)});
  // The sum is unsigned whatever the number is.
  const uint32_t primitives = code.emit(Op::OpIAdd, u32_, {instruction.operand(1), constant(0)});
  code.store(variable_, code.emit(Op::OpSelect, u32_, {first, primitives, constant(0)}));
}

bool OutputCounting::is_stream_0(const Instruction& instruction) const {
  if (instruction.operand_count() == 0) return true;
  const auto stream = context_.module().definition(instruction.operand(0));
  return stream && stream->opcode() == Op::OpConstant && stream->operand(0) == 0;
}

uint32_t OutputCounting::strip_vertices() const {
  const Module& module = context_.module();
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    if (instruction.opcode() != Op::OpExecutionMode ||
        instruction.operand(0) != context_.entry.function_id) {
      continue;
    }
    switch (static_cast<spv::ExecutionMode>(instruction.operand(1))) {
      case spv::ExecutionMode::OutputPoints:
        return 1;
      case spv::ExecutionMode::OutputLineStrip:
        return 2;
      case spv::ExecutionMode::OutputTriangleStrip:
        return 3;
      default:
        break;
    }
  }
  return 3;
}

}  // namespace tally::spirv
