#include "spirv/testing/large_modules.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "spirv/ir/instruction_builder.h"

namespace tally::spirv::test {
namespace {

using spv::ExecutionModel;
using spv::Op;

// From 1.4 on an entry point lists all variables, of which it can list 65,000.
constexpr uint32_t kVersion13 = 0x00010300;
constexpr uint32_t kVersion14 = 0x00010400;

template <typename Enum>
constexpr uint32_t word(Enum value) {
  return static_cast<uint32_t>(value);
}

std::vector<uint32_t> string_words(std::string_view text) {
  std::vector<uint32_t> words(text.size() / 4 + 1, 0);
  std::ranges::copy(text, reinterpret_cast<char*>(words.data()));
  return words;
}

// The types, constants and functions of a module in the making.
class Writer {
 public:
  Writer() {
    globals.emit(Op::OpTypeVoid, {none});
    globals.emit(Op::OpTypeBool, {boolean});
    globals.emit(Op::OpTypeInt, {u32, 32, 0});
    globals.emit(Op::OpTypeInt, {i32, 32, 1});
    globals.emit(Op::OpTypeFloat, {f32, 32});
    globals.emit(Op::OpTypeFunction, {function_type, none});
    globals.emit_as(condition, Op::OpSpecConstantTrue, boolean, {});
    globals.emit_as(zero, Op::OpConstant, u32, std::vector<uint32_t>{0});
    globals.emit_as(one, Op::OpConstant, u32, std::vector<uint32_t>{1});
    globals.emit_as(real, Op::OpConstant, f32, std::vector<uint32_t>{0});
  }

  void begin_function(uint32_t id) {
    code.emit_as(id, Op::OpFunction, none, std::vector<uint32_t>{0, function_type});
    code.label(code.new_id());
  }
  void end_function() {
    code.emit(Op::OpReturn);
    code.emit(Op::OpFunctionEnd);
  }

  // if (condition) { `end` }: the branch does not come back.
  void if_then_end(Op end) {
    const uint32_t inside = code.new_id();
    const uint32_t after = code.new_id();
    code.selection_merge(after);
    code.branch_if(condition, inside, after);
    code.label(inside);
    code.emit(end);
    code.label(after);
  }

  struct Loop {
    uint32_t header, next, after;
  };
  Loop begin_loop() {
    const Loop loop{code.new_id(), code.new_id(), code.new_id()};
    const uint32_t body = code.new_id();
    code.branch(loop.header);
    code.label(loop.header);
    code.loop_merge(loop.after, loop.next);
    code.branch_if(condition, body, loop.after);
    code.label(body);
    return loop;
  }
  void end_loop(const Loop& loop) {
    code.branch(loop.next);
    code.label(loop.next);
    code.branch(loop.header);
    code.label(loop.after);
  }

  // `capability` in addition to Shader, from `extension`; both may be empty.
  std::vector<uint32_t> finish(ExecutionModel stage, std::optional<spv::Capability> capability,
                               std::string_view extension) {
    InstructionBuilder head(ids);
    head.emit(Op::OpCapability, {word(spv::Capability::Shader)});
    if (capability) head.emit(Op::OpCapability, {word(*capability)});
    if (!extension.empty()) head.emit(Op::OpExtension, string_words(extension));
    head.emit(Op::OpMemoryModel, {0, 1});                             // Logical GLSL450
    head.emit(Op::OpEntryPoint, {word(stage), main, 0x6e69616d, 0});  // "main"
    if (stage == ExecutionModel::Fragment) {
      head.emit(Op::OpExecutionMode, {main, word(spv::ExecutionMode::OriginUpperLeft)});
    } else if (stage == ExecutionModel::GLCompute) {
      head.emit(Op::OpExecutionMode, {main, word(spv::ExecutionMode::LocalSize), 1, 1, 1});
    }
    head.append(globals.words());
    head.append(code.words());
    const uint32_t version = stage == ExecutionModel::IntersectionKHR ? kVersion14 : kVersion13;
    std::vector<uint32_t> words = {spv::MagicNumber, version, 0, ids.next, 0};
    words.insert(words.end(), head.words().begin(), head.words().end());
    return words;
  }

  static constexpr uint32_t none = 1, boolean = 2, u32 = 3, f32 = 4, function_type = 5,
                            condition = 6, zero = 7, real = 8, main = 9, one = 10, i32 = 11;
  IdAllocator ids{12};
  InstructionBuilder globals{ids};
  InstructionBuilder code{ids};
};

void ifs(Writer& writer, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) writer.code.if_then(writer.condition, [] {});
}

void nested_ifs(Writer& writer, uint32_t count) {
  InstructionBuilder& code = writer.code;
  std::vector<uint32_t> merges;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t inside = code.new_id();
    merges.push_back(code.new_id());
    code.selection_merge(merges.back());
    code.branch_if(writer.condition, inside, merges.back());
    code.label(inside);
  }
  for (; !merges.empty(); merges.pop_back()) {
    code.branch(merges.back());
    code.label(merges.back());
  }
}

void loops(Writer& writer, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) writer.end_loop(writer.begin_loop());
}

// for (i = 0; i != 1; ++i) {}
void constant_loops(Writer& writer, uint32_t count) {
  InstructionBuilder& code = writer.code;
  uint32_t before = *code.last_label();
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t header = code.new_id(), next = code.new_id(), after = code.new_id();
    const uint32_t number = code.new_id(), stepped = code.new_id();
    code.branch(header);
    code.label(header);
    code.emit_as(number, Op::OpPhi, Writer::u32,
                 std::vector<uint32_t>{Writer::zero, before, stepped, next});
    const uint32_t more = code.emit(Op::OpINotEqual, Writer::boolean, {number, Writer::one});
    code.loop_merge(after, next);
    code.branch_if(more, next, after);
    code.label(next);
    code.emit_as(stepped, Op::OpIAdd, Writer::u32, std::vector<uint32_t>{number, Writer::one});
    code.branch(header);
    code.label(after);
    before = after;
  }
}

void nested_loops(Writer& writer, uint32_t count) {
  std::vector<Writer::Loop> open;
  for (uint32_t i = 0; i < count; ++i) open.push_back(writer.begin_loop());
  for (; !open.empty(); open.pop_back()) writer.end_loop(open.back());
}

void discards_in_loops(Writer& writer, uint32_t count) {
  std::vector<Writer::Loop> open;
  for (uint32_t i = 0; i < count; ++i) open.push_back(writer.begin_loop());
  for (; !open.empty(); open.pop_back()) {
    writer.end_loop(open.back());
    writer.if_then_end(Op::OpKill);
  }
}

// A chain of bitcasts, from an unsigned integer to an unsigned integer.
uint32_t conversions(Writer& writer, uint32_t value, uint32_t count) {
  for (uint32_t i = 0; i < 2 * ((count + 1) / 2); ++i) {
    value = writer.code.emit(Op::OpBitcast, i % 2 == 0 ? Writer::i32 : Writer::u32, {value});
  }
  return value;
}

// for (i = start; i < limit; ++i) {}, with `limit`, computed in each iteration, or `start` at the
// end of a chain.
template <bool is_limit>
void converted(Writer& writer, uint32_t count) {
  InstructionBuilder& code = writer.code;
  const uint32_t value = code.emit(Op::OpIAdd, Writer::u32, {Writer::zero, Writer::one});
  const uint32_t start = is_limit ? Writer::zero : conversions(writer, value, count);
  const uint32_t before = *code.last_label();
  const uint32_t header = code.new_id(), next = code.new_id(), after = code.new_id();
  const uint32_t number = code.new_id(), stepped = code.new_id();
  code.branch(header);
  code.label(header);
  code.emit_as(number, Op::OpPhi, Writer::u32, std::vector<uint32_t>{start, before, stepped, next});
  const uint32_t limit = is_limit ? conversions(writer, value, count) : Writer::one;
  const uint32_t more = code.emit(Op::OpULessThan, Writer::boolean, {number, limit});
  code.loop_merge(after, next);
  code.branch_if(more, next, after);
  code.label(next);
  code.emit_as(stepped, Op::OpIAdd, Writer::u32, std::vector<uint32_t>{number, Writer::one});
  code.branch(header);
  code.label(after);
}

// A switch of at most so many cases: an instruction has 65,535 words.
constexpr uint32_t kMaxCases = 10'000;

// `end`: how a case ends; OpBranch leads behind the switch.
template <Op end>
void switches(Writer& writer, uint32_t count) {
  InstructionBuilder& code = writer.code;
  for (; count > 0; count -= std::min(count, kMaxCases)) {
    const uint32_t after = code.new_id();
    std::vector<uint32_t> operands = {writer.zero, after};
    std::vector<uint32_t> labels;
    for (uint32_t i = 0; i < std::min(count, kMaxCases); ++i) {
      labels.push_back(code.new_id());
      operands.insert(operands.end(), {i, labels.back()});
    }
    code.selection_merge(after);
    code.emit(Op::OpSwitch, operands);
    for (const uint32_t label : labels) {
      code.label(label);
      if constexpr (end == Op::OpBranch) {
        code.branch(after);
      } else {
        code.emit(end);
      }
    }
    code.label(after);
  }
}

void ends(Writer& writer, uint32_t count, Op end) {
  for (uint32_t i = 0; i < count; ++i) writer.if_then_end(end);
}

void demotions(Writer& writer, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    writer.code.if_then(writer.condition,
                        [&] { writer.code.emit(Op::OpDemoteToHelperInvocation); });
  }
}

void reports(Writer& writer, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    writer.code.emit(Op::OpReportIntersectionKHR, writer.boolean, {writer.real, writer.zero});
  }
}

// A module with one function that may discard.
void calls(Writer& writer, uint32_t callee, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) writer.code.call(writer.none, callee);
}

void may_kill(Writer& writer, uint32_t function) {
  writer.begin_function(function);
  writer.if_then_end(Op::OpKill);
  writer.end_function();
}

// Each calls the next one; the last one may discard.
void chain(Writer& writer, uint32_t first, uint32_t count) {
  uint32_t function = first;
  for (uint32_t i = 1; i < count; ++i) {
    const uint32_t next = writer.code.new_id();
    writer.begin_function(function);
    writer.code.call(writer.none, next);
    writer.end_function();
    function = next;
  }
  may_kill(writer, function);
}

struct Shape {
  std::string_view name;
  ExecutionModel stage;
  void (*main)(Writer& writer, uint32_t count);  // the body of the entry point
};

void kills(Writer& writer, uint32_t count) { ends(writer, count, Op::OpKill); }
void returns(Writer& writer, uint32_t count) { ends(writer, count, Op::OpReturn); }

void calls_of_one(Writer& writer, uint32_t count) {
  const uint32_t callee = writer.code.new_id();
  calls(writer, callee, count);
  writer.end_function();
  may_kill(writer, callee);
}

void calls_of_many(Writer& writer, uint32_t count) {
  std::vector<uint32_t> callees;
  for (uint32_t i = 0; i < count; ++i) {
    callees.push_back(writer.code.new_id());
    writer.code.call(writer.none, callees.back());
  }
  writer.end_function();
  for (const uint32_t callee : callees) may_kill(writer, callee);
}

void call_chain(Writer& writer, uint32_t count) {
  const uint32_t first = writer.code.new_id();
  writer.code.call(writer.none, first);
  writer.end_function();
  chain(writer, first, count);
}

template <void (*body)(Writer&, uint32_t)>
void alone(Writer& writer, uint32_t count) {
  body(writer, count);
  writer.end_function();
}

constexpr Shape kShapes[] = {
    {"ifs in a row", ExecutionModel::GLCompute, alone<ifs>},
    {"nested ifs", ExecutionModel::GLCompute, alone<nested_ifs>},
    {"cases of switches", ExecutionModel::GLCompute, alone<switches<Op::OpBranch>>},
    {"cases that return", ExecutionModel::GLCompute, alone<switches<Op::OpReturn>>},
    {"loops in a row", ExecutionModel::GLCompute, alone<loops>},
    {"loops of a constant length", ExecutionModel::GLCompute, alone<constant_loops>},
    {"nested loops", ExecutionModel::GLCompute, alone<nested_loops>},
    {"conversions of a loop's limit", ExecutionModel::GLCompute, alone<converted<true>>},
    {"conversions of a loop's start", ExecutionModel::GLCompute, alone<converted<false>>},
    {"early returns", ExecutionModel::GLCompute, alone<returns>},
    {"discards", ExecutionModel::Fragment, alone<kills>},
    {"discards in nested loops", ExecutionModel::Fragment, alone<discards_in_loops>},
    {"demotions", ExecutionModel::Fragment, alone<demotions>},
    {"reported intersections", ExecutionModel::IntersectionKHR, alone<reports>},
    {"calls of a function that may discard", ExecutionModel::Fragment, calls_of_one},
    {"functions that may discard", ExecutionModel::Fragment, calls_of_many},
    {"functions that call the next one", ExecutionModel::Fragment, call_chain},
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kShapes)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kShapes[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> large_shapes() { return kNames; }

LargeModule large_module(std::string_view name, uint32_t count) {
  const auto shape = std::ranges::find(kShapes, name, &Shape::name);
  if (shape == std::end(kShapes)) throw std::runtime_error("no such shape");
  Writer writer;
  writer.begin_function(Writer::main);
  shape->main(writer, count);
  if (shape->stage == ExecutionModel::IntersectionKHR) {
    return {shape->name, shape->stage,
            writer.finish(shape->stage, spv::Capability::RayTracingKHR, "SPV_KHR_ray_tracing")};
  }
  if (name == "demotions") {
    return {shape->name, shape->stage,
            writer.finish(shape->stage, spv::Capability::DemoteToHelperInvocation,
                          "SPV_EXT_demote_to_helper_invocation")};
  }
  return {shape->name, shape->stage, writer.finish(shape->stage, std::nullopt, {})};
}

}  // namespace tally::spirv::test
