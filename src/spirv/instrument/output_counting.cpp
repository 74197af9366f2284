#include "spirv/instrument/output_counting.h"

#include <algorithm>
#include <optional>

#include "spirv/analysis/discards.h"
#include "spirv/analysis/early_tests.h"

namespace tally::spirv {
namespace {

using spv::ExecutionModel;
using spv::Op;

// Empty if it is not a constant, which is invalid.
std::optional<uint32_t> emitted_stream(const Module& module, const Instruction& instruction) {
  if (instruction.operand_count() == 0) return 0;
  const auto stream = module.definition(instruction.operand(0));
  if (!stream || stream->opcode() != Op::OpConstant) return std::nullopt;
  if (stream->operand(0) >= CounterPlan::kStreams) return std::nullopt;
  return stream->operand(0);
}

bool counts_outputs(const BlockCountOptions& options) {
  const bool tessellates =
      options.stage == ExecutionModel::TessellationControl && options.tessellation;
  const bool has_outputs = options.stage == ExecutionModel::Fragment ||
                           options.stage == ExecutionModel::Geometry ||
                           options.stage == ExecutionModel::MeshEXT || tessellates;
  return options.count_outputs && has_outputs && options.counting == Counting::Private;
}

}  // namespace

std::vector<uint32_t> output_streams(const Module& module, const BlockCountOptions& options) {
  if (!counts_outputs(options)) return {};
  std::array<bool, CounterPlan::kStreams> used{true};
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    if (instruction.opcode() != Op::OpEmitStreamVertex) continue;
    if (const auto stream = emitted_stream(module, instruction)) used[*stream] = true;
  }
  std::vector<uint32_t> streams;
  for (uint32_t stream = 0; stream < used.size(); ++stream) {
    if (used[stream]) streams.push_back(stream);
  }
  return streams;
}

OutputCounting::OutputCounting(const CountingTools& tools)
    : context_(tools.context),
      editor_(context_.editor),
      builtins_(tools.builtins),
      u32_(editor_.type_int(32)),
      boolean_(editor_.type_bool()) {}

void OutputCounting::add_stream(uint32_t stream, uint32_t variable) {
  streams_[stream].variable = variable;
}

void OutputCounting::begin(InstructionBuilder& code) {
  if (!context_.stage.has_helpers) return;
  code.store(streams_[0].variable, code.emit(Op::OpBitCount, u32_, {builtins_.sample_mask(code)}));
}

void OutputCounting::leave(InstructionBuilder& code, const Exit& exit) {
  if (!context_.stage.has_helpers || declares_early_tests(context_.module(), context_.entry))
    return;
  const Op opcode = context_.module().instruction(exit.instruction).opcode();
  if (is_discard(opcode)) {
    code.store(streams_[0].variable, constant(0));
  } else if (opcode == Op::OpReturn) {
    apply_written_mask(code);
  }
}

void OutputCounting::apply_written_mask(InstructionBuilder& code) {
  constexpr auto kOutput = spv::StorageClass::Output;
  const Module& module = context_.module();
  const auto written = find_builtin(module, context_.entry, kOutput, spv::BuiltIn::SampleMask);
  const auto array = written ? module.definition(written->type) : std::nullopt;
  if (!array || array->opcode() != Op::OpTypeArray || written->member) return;
  const uint32_t element = array->operand(0);
  const uint32_t pointer =
      code.access_chain(editor_.type_pointer(kOutput, element), written->variable, {constant(0)});
  uint32_t mask = code.load(element, pointer);
  if (element != u32_) mask = code.emit(Op::OpBitcast, u32_, {mask});
  const uint32_t left = code.emit(Op::OpBitwiseAnd, u32_, {builtins_.sample_mask(code), mask});
  code.store(streams_[0].variable, code.emit(Op::OpBitCount, u32_, {left}));
}

void OutputCounting::insert() {
  if (context_.stage.has_helpers) return;
  const Module& module = context_.module();
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    InstructionBuilder code = editor_.new_code();
    switch (instruction.opcode()) {
      case Op::OpEmitVertex:
      case Op::OpEmitStreamVertex:
        if (Stream* stream = stream_of(instruction)) before_emit(code, *stream);
        break;
      case Op::OpEndPrimitive:
      case Op::OpEndStreamPrimitive:
        if (Stream* stream = stream_of(instruction)) code.store(strip_of(*stream), constant(0));
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

uint32_t OutputCounting::strip_of(Stream& stream) {
  if (stream.strip == 0) {
    constexpr auto kPrivate = spv::StorageClass::Private;
    stream.strip =
        editor_.new_global_variable(editor_.type_pointer(kPrivate, u32_), kPrivate, constant(0));
    editor_.add_to_interface(context_.entry, stream.strip);
  }
  return stream.strip;
}

// if (++strip >= vertices of a primitive) ++primitives;
void OutputCounting::before_emit(InstructionBuilder& code, Stream& stream) {
  const uint32_t strip = strip_of(stream);
  const uint32_t vertices = code.emit(Op::OpIAdd, u32_, {code.load(u32_, strip), constant(1)});
  code.store(strip, vertices);
  const uint32_t completes =
      code.emit(Op::OpUGreaterThanEqual, boolean_, {vertices, constant(strip_vertices())});
  const uint32_t one = code.emit(Op::OpSelect, u32_, {completes, constant(1), constant(0)});
  const uint32_t before = code.load(u32_, stream.variable);
  code.store(stream.variable, code.emit(Op::OpIAdd, u32_, {before, one}));
}

// All invocations of the workgroup set the same numbers, so only one counts.
void OutputCounting::before_set_mesh_outputs(InstructionBuilder& code,
                                             const Instruction& instruction) {
  const uint32_t index = builtins_.number(code, spv::BuiltIn::LocalInvocationIndex, 1, 0);
  const uint32_t first = code.emit(Op::OpIEqual, boolean_, {index, constant(0)});
  // The sum is unsigned even if the count is signed.
  const uint32_t primitives = code.emit(Op::OpIAdd, u32_, {instruction.operand(1), constant(0)});
  code.store(streams_[0].variable, code.emit(Op::OpSelect, u32_, {first, primitives, constant(0)}));
}

// Null if nothing is emitted to the stream.
OutputCounting::Stream* OutputCounting::stream_of(const Instruction& instruction) {
  const auto index = emitted_stream(context_.module(), instruction);
  if (!index || streams_[*index].variable == 0) return nullptr;
  return &streams_[*index];
}

uint32_t OutputCounting::strip_vertices() const {
  const Module& module = context_.module();
  for (const uint32_t mode : module.execution_modes(context_.entry)) {
    switch (static_cast<spv::ExecutionMode>(module.instruction(mode).operand(1))) {
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
