#include "spirv/instrument/output_counting.h"

#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>
#include <bit>
#include <optional>

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
    stream.strip = editor_.new_private_variable(context_.entry, u32_, constant(0));
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

namespace {

using spv::BuiltIn;
using spv::ExecutionMode;
using spv::Op;
using Domain = Tessellation::Domain;
using Spacing = Tessellation::Spacing;

constexpr uint32_t outer_levels(Domain domain) {
  return domain == Domain::Isolines ? 2 : domain == Domain::Triangles ? 3 : 4;
}
constexpr uint32_t inner_levels(Domain domain) {
  return domain == Domain::Isolines ? 0 : domain == Domain::Triangles ? 1 : 2;
}

}  // namespace

void add_tessellation_modes(const Module& module, const EntryPoint& entry, Tessellation& modes) {
  for (const uint32_t mode : module.execution_modes(entry)) {
    switch (static_cast<ExecutionMode>(module.instruction(mode).operand(1))) {
      case ExecutionMode::Triangles:
        modes.domain = Domain::Triangles;
        break;
      case ExecutionMode::Quads:
        modes.domain = Domain::Quads;
        break;
      case ExecutionMode::Isolines:
        modes.domain = Domain::Isolines;
        break;
      case ExecutionMode::SpacingFractionalEven:
        modes.spacing = Spacing::FractionalEven;
        break;
      case ExecutionMode::SpacingFractionalOdd:
        modes.spacing = Spacing::FractionalOdd;
        break;
      case ExecutionMode::PointMode:
        modes.points = true;
        break;
      default:
        break;
    }
  }
}

TessellationCounting::TessellationCounting(const CountingTools& tools, uint32_t counter)
    : tools_(tools),
      context_(tools.context),
      editor_(context_.editor),
      counter_(counter),
      modes_(*context_.options.tessellation),
      u32_(editor_.type_int(32)),
      f32_(editor_.type_float(32)),
      boolean_(editor_.type_bool()),
      extended_(editor_.import_glsl()) {}

// The barrier is before the return if there is only one, which all invocations reach together. With
// several returns, or a return inside a loop, the barrier follows a call of the application's entry
// point.
void TessellationCounting::insert() {
  const uint32_t none = editor_.type_void();
  const uint32_t patch = make_patch_function();
  const Module& module = context_.module();
  std::vector<Exit> returns = context_.graph.exits;
  std::erase_if(returns, [&](const Exit& exit) {
    return module.instruction(exit.instruction).opcode() != Op::OpReturn;
  });
  InstructionBuilder code = editor_.new_code();
  if (returns.size() == 1 && !returns_from_loop()) {
    barrier(code);
    code.call(none, patch);
    editor_.insert_before(returns.front().instruction, code);
    return;
  }
  const uint32_t function = editor_.new_id();
  begin_function(code, function);
  code.call(none, context_.entry.function_id);
  barrier(code);
  code.call(none, patch);
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context_.add_function(code);
  editor_.move_entry_point(context_.entry, function);
}

// True if some loop of the entry point is left only by returns, so that its merge block never runs.
bool TessellationCounting::returns_from_loop() const {
  const Module& module = context_.module();
  const SegmentGraph& graph = context_.graph;
  const uint32_t entry = graph.segments[graph.entry_segment].function;
  const auto runs = [&](uint32_t label) {
    const uint32_t begin = module.definition_index(label);
    const auto block = std::ranges::find_if(graph.segments, [&](const CfgSegment& segment) {
      return segment.function == entry && segment.begins_block && segment.insert_at > begin;
    });
    return block != graph.segments.end() && block->runs;
  };
  const Function& function = module.functions()[entry];
  for (uint32_t i = function.begin; i < function.end; ++i) {
    const Instruction instruction = module.instruction(i);
    if (instruction.opcode() == Op::OpLoopMerge && !runs(instruction.operand(0))) return true;
  }
  return false;
}

void TessellationCounting::begin_function(InstructionBuilder& code, uint32_t function) {
  const uint32_t none = editor_.type_void();
  code.emit_as(function, Op::OpFunction, none,
               std::vector<uint32_t>{0, editor_.type_function(none)});
  code.label(code.new_id());
}

// The code of the first invocation at the end.
uint32_t TessellationCounting::make_patch_function() {
  const uint32_t function = editor_.new_id();
  editor_.name(function, "tally.patch");
  InstructionBuilder code = editor_.new_code();
  begin_function(code, function);
  const uint32_t invocation = tools_.builtins.number(code, BuiltIn::InvocationId, 1, 0);
  const uint32_t first = code.emit(Op::OpIEqual, boolean_, {invocation, u32(0)});
  code.if_then(first, [&] { count(code); });
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context_.add_function(code);
  return function;
}

// Any invocation may have written the levels.
void TessellationCounting::barrier(InstructionBuilder& code) {
  using Semantics = spv::MemorySemanticsMask;
  const bool vulkan = context_.vulkan_memory_model;
  const auto memory = vulkan ? spv::Scope::Workgroup : spv::Scope::Invocation;
  const uint32_t semantics =
      vulkan ? word(Semantics::AcquireRelease) | word(Semantics::OutputMemory) : 0;
  code.emit(Op::OpControlBarrier,
            {u32(word(spv::Scope::Workgroup)), u32(word(memory)), u32(semantics)});
}

void TessellationCounting::count(InstructionBuilder& code) {
  const RecordPointer record_pointer = tools_.record.load_record_pointer(code);
  code.if_then(tools_.record.is_set(code, record_pointer), [&] {
    const Levels levels = load_levels(code);
    uint32_t number = 0;
    switch (modes_.domain) {
      case Domain::Isolines:
        number = lines(code, levels);
        break;
      case Domain::Triangles:
        number = triangles(code, levels);
        break;
      case Domain::Quads:
        number = quads(code, levels);
        break;
    }
    const ShardAddress shard = tools_.record.shard_address(code, record_pointer);
    tools_.record.add(code, shard, u32(counter_), select(code, levels.kept, number, u32(0)));
  });
}

TessellationCounting::Levels TessellationCounting::load_levels(InstructionBuilder& code) {
  Levels levels;
  for (uint32_t i = 0; i < outer_levels(modes_.domain); ++i) {
    const uint32_t outer = level(code, BuiltIn::TessLevelOuter, i);
    const uint32_t positive = code.emit(Op::OpFOrdGreaterThan, boolean_, {outer, f32(0)});
    levels.kept =
        i == 0 ? positive : code.emit(Op::OpLogicalAnd, boolean_, {levels.kept, positive});
    // The first outer level of isolines always has equal spacing.
    const bool counts_lines = modes_.domain == Domain::Isolines && i == 0;
    levels.outer.push_back(segments(code, outer, counts_lines ? Spacing::Equal : modes_.spacing));
  }
  for (uint32_t i = 0; i < inner_levels(modes_.domain); ++i) {
    levels.inner[i] = segments(code, level(code, BuiltIn::TessLevelInner, i), modes_.spacing);
  }
  return levels;
}

// A level that the shader does not write is undefined, so any value is allowed.
uint32_t TessellationCounting::level(InstructionBuilder& code, BuiltIn builtin, uint32_t index) {
  constexpr auto kOutput = spv::StorageClass::Output;
  const auto found = find_builtin(context_.module(), context_.entry, kOutput, builtin);
  if (!found) return f32(1);
  const uint32_t pointer_type = editor_.type_pointer(kOutput, f32_);
  const uint32_t pointer =
      found->member
          ? code.access_chain(pointer_type, found->variable, {u32(*found->member), u32(index)})
          : code.access_chain(pointer_type, found->variable, {u32(index)});
  return code.load(f32_, pointer);
}

uint32_t TessellationCounting::f32(float value) const {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return editor_.constant(f32_, {&bits, 1});
}

uint32_t TessellationCounting::segments(InstructionBuilder& code, uint32_t level, Spacing spacing) {
  const auto most = static_cast<float>(context_.options.max_tessellation_level);
  const auto clamped = [&](float low, float high) {
    return code.emit(Op::OpExtInst, f32_,
                     {extended_, GLSLstd450NClamp, level, f32(low), f32(high)});
  };
  const auto rounded_up = [&](uint32_t value) {
    const uint32_t up = code.emit(Op::OpExtInst, f32_, {extended_, GLSLstd450Ceil, value});
    return code.emit(Op::OpConvertFToU, u32_, {up});
  };
  const auto half = [&](uint32_t value) { return code.emit(Op::OpFMul, f32_, {value, f32(0.5f)}); };
  switch (spacing) {
    case Spacing::FractionalEven:
      return emit(code, Op::OpIMul, rounded_up(half(clamped(2, most))), u32(2));
    case Spacing::FractionalOdd: {
      const uint32_t above = code.emit(Op::OpFSub, f32_, {clamped(1, most - 1), f32(1)});
      const uint32_t pairs = rounded_up(half(above));
      return emit(code, Op::OpIAdd, emit(code, Op::OpIMul, pairs, u32(2)), u32(1));
    }
    default:
      return rounded_up(clamped(1, most));
  }
}

uint32_t TessellationCounting::inside(InstructionBuilder& code, uint32_t segments) {
  const uint32_t next = modes_.spacing == Spacing::FractionalOdd ? 3 : 2;
  const uint32_t one = code.emit(Op::OpIEqual, boolean_, {segments, u32(1)});
  return select(code, one, u32(next), segments);
}

uint32_t TessellationCounting::sum(InstructionBuilder& code, const std::vector<uint32_t>& numbers) {
  uint32_t result = numbers.front();
  for (size_t i = 1; i < numbers.size(); ++i) {
    result = emit(code, Op::OpIAdd, result, numbers[i]);
  }
  return result;
}

uint32_t TessellationCounting::all_one(InstructionBuilder& code, const Levels& levels,
                                       uint32_t inner) {
  std::vector<uint32_t> numbers = levels.outer;
  numbers.insert(numbers.end(), levels.inner, levels.inner + inner);
  const auto count = static_cast<uint32_t>(numbers.size());
  return code.emit(Op::OpIEqual, boolean_, {sum(code, numbers), u32(count)});
}

uint32_t TessellationCounting::lines(InstructionBuilder& code, const Levels& levels) {
  const uint32_t of_a_line =
      modes_.points ? emit(code, Op::OpIAdd, levels.outer[1], u32(1)) : levels.outer[1];
  return emit(code, Op::OpIMul, levels.outer[0], of_a_line);
}

// The triangles inside the outermost ring: a triangle with `edge` segments on each side, or a
// point.
uint32_t TessellationCounting::inner_triangle(InstructionBuilder& code, uint32_t edge) {
  if (!modes_.points) {
    // Each ring has three edges; the total is floor(3/2 edge^2).
    const uint32_t square = emit(code, Op::OpIMul, edge, edge);
    return emit(code, Op::OpShiftRightLogical, emit(code, Op::OpIMul, square, u32(3)), u32(1));
  }
  // Rings of 3 edge, 3 (edge - 2) ... points; the middle of an even number is one.
  const uint32_t half = emit(code, Op::OpShiftRightLogical, edge, u32(1));
  const uint32_t more = emit(code, Op::OpIAdd, half, u32(1));
  const uint32_t even = emit(
      code, Op::OpIAdd, emit(code, Op::OpIMul, emit(code, Op::OpIMul, half, more), u32(3)), u32(1));
  const uint32_t odd = emit(code, Op::OpIMul, emit(code, Op::OpIMul, more, more), u32(3));
  const uint32_t is_odd =
      code.emit(Op::OpIEqual, boolean_, {emit(code, Op::OpBitwiseAnd, edge, u32(1)), u32(1)});
  return select(code, is_odd, odd, even);
}

// A ring between edges of a and b segments has a + b triangles.
uint32_t TessellationCounting::triangles(InstructionBuilder& code, const Levels& levels) {
  const uint32_t single = all_one(code, levels, 1);
  const uint32_t edge = emit(code, Op::OpISub, inside(code, levels.inner[0]), u32(2));
  uint32_t number = emit(code, Op::OpIAdd, sum(code, levels.outer), inner_triangle(code, edge));
  if (!modes_.points) {
    number = emit(code, Op::OpIAdd, number, emit(code, Op::OpIMul, edge, u32(3)));
  }
  return select(code, single, u32(modes_.points ? 3 : 1), number);
}

uint32_t TessellationCounting::quads(InstructionBuilder& code, const Levels& levels) {
  const uint32_t single = all_one(code, levels, 2);
  uint32_t edges[2];
  const uint32_t less = modes_.points ? 1 : 2;
  for (size_t i = 0; i < 2; ++i) {
    edges[i] = emit(code, Op::OpISub, inside(code, levels.inner[i]), u32(less));
  }
  uint32_t area = emit(code, Op::OpIMul, edges[0], edges[1]);
  if (!modes_.points) {
    area = emit(code, Op::OpIAdd, area, emit(code, Op::OpIAdd, edges[0], edges[1]));
    area = emit(code, Op::OpIMul, area, u32(2));
  }
  const uint32_t number = emit(code, Op::OpIAdd, sum(code, levels.outer), area);
  return select(code, single, u32(modes_.points ? 4 : 2), number);
}

}  // namespace tally::spirv
