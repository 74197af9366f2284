#include "oracle/interpreter.h"

#include <bit>
#include <stdexcept>

#include "spirv/analysis/cfg.h"

namespace tally::test {
namespace {

using spirv::Instruction;
using spv::Op;
using spv::StorageClass;

constexpr uint32_t kBufferObject = 0;  // the object of the storage buffer
constexpr uint64_t kMaxSteps = 50'000'000;

[[noreturn]] void refuse(const Instruction& instruction) {
  throw std::runtime_error("the oracle does not know opcode " +
                           std::to_string(static_cast<int>(instruction.opcode())));
}

int32_t as_signed(uint32_t word) { return static_cast<int32_t>(word); }
float as_float(uint32_t word) { return std::bit_cast<float>(word); }
uint32_t as_word(float value) { return std::bit_cast<uint32_t>(value); }

uint32_t unary(const Instruction& instruction, uint32_t a) {
  switch (instruction.opcode()) {
    case Op::OpNot:
      return ~a;
    case Op::OpSNegate:
      return 0 - a;
    case Op::OpLogicalNot:
      return a == 0;
    case Op::OpBitcast:
    case Op::OpCopyObject:
      return a;
    case Op::OpConvertFToU:
      return static_cast<uint32_t>(as_float(a));
    case Op::OpConvertFToS:
      return static_cast<uint32_t>(static_cast<int32_t>(as_float(a)));
    case Op::OpConvertUToF:
      return as_word(static_cast<float>(a));
    default:
      refuse(instruction);
  }
}

uint32_t binary(const Instruction& instruction, uint32_t a, uint32_t b) {
  switch (instruction.opcode()) {
    case Op::OpIAdd:
      return a + b;
    case Op::OpISub:
      return a - b;
    case Op::OpIMul:
      return a * b;
    case Op::OpUDiv:
      return a / b;
    case Op::OpUMod:
      return a % b;
    case Op::OpBitwiseAnd:
      return a & b;
    case Op::OpBitwiseOr:
      return a | b;
    case Op::OpBitwiseXor:
      return a ^ b;
    case Op::OpShiftLeftLogical:
      return a << b;
    case Op::OpShiftRightLogical:
      return a >> b;
    case Op::OpIEqual:
    case Op::OpLogicalEqual:
      return a == b;
    case Op::OpINotEqual:
    case Op::OpLogicalNotEqual:
      return a != b;
    case Op::OpULessThan:
      return a < b;
    case Op::OpULessThanEqual:
      return a <= b;
    case Op::OpUGreaterThan:
      return a > b;
    case Op::OpUGreaterThanEqual:
      return a >= b;
    case Op::OpSLessThan:
      return as_signed(a) < as_signed(b);
    case Op::OpSGreaterThan:
      return as_signed(a) > as_signed(b);
    case Op::OpLogicalAnd:
      return a & b;
    case Op::OpLogicalOr:
      return a | b;
    case Op::OpFMul:
      return as_word(as_float(a) * as_float(b));
    case Op::OpFAdd:
      return as_word(as_float(a) + as_float(b));
    default:
      refuse(instruction);
  }
}

}  // namespace

Interpreter::Interpreter(const spirv::Module& module, spv::ExecutionModel stage,
                         const std::map<uint32_t, uint32_t>& specialization)
    : module_(module), entry_(module.find_entry_point(stage, "main")) {
  if (entry_ == nullptr) throw std::runtime_error("the module has no such entry point");
  read_globals(specialization);
}

uint32_t Interpreter::size_of(uint32_t type) const {
  const Instruction instruction = *module_.definition(type);
  switch (instruction.opcode()) {
    case Op::OpTypeBool:
    case Op::OpTypeInt:
    case Op::OpTypeFloat:
      return 1;
    case Op::OpTypeVector:
      return instruction.operand(1) * size_of(instruction.operand(0));
    case Op::OpTypeArray:
      return constants_.at(instruction.operand(1)).at(0) * size_of(instruction.operand(0));
    case Op::OpTypeRuntimeArray:
      return 0;
    case Op::OpTypeStruct: {
      uint32_t size = 0;
      for (const uint32_t member : instruction.operands()) size += size_of(member);
      return size;
    }
    default:
      refuse(instruction);
  }
}

uint32_t Interpreter::new_object(Words words) {
  objects_.push_back(std::move(words));
  return static_cast<uint32_t>(objects_.size() - 1);
}

void Interpreter::read_globals(const std::map<uint32_t, uint32_t>& specialization) {
  for (uint32_t i = 0; i < module_.functions().front().begin; ++i) {
    const Instruction instruction = module_.instruction(i);
    const uint32_t id = instruction.result_id();
    switch (instruction.opcode()) {
      case Op::OpConstantTrue:
        constants_[id] = {1};
        break;
      case Op::OpConstantFalse:
        constants_[id] = {0};
        break;
      case Op::OpConstant:
        constants_[id] = {instruction.operand(0)};
        break;
      case Op::OpConstantComposite:
        for (const uint32_t part : instruction.operands()) {
          const Words& words = constants_.at(part);
          constants_[id].insert(constants_[id].end(), words.begin(), words.end());
        }
        break;
      case Op::OpSpecConstant: {
        const auto spec_id = module_.decoration(id, spv::Decoration::SpecId);
        const auto given = spec_id ? specialization.find(*spec_id) : specialization.end();
        constants_[id] = {given == specialization.end() ? instruction.operand(0) : given->second};
        break;
      }
      default:
        break;
    }
  }
}

void Interpreter::set_input(uint32_t variable, const Invocation& invocation) {
  const auto builtin = module_.decoration(variable, spv::Decoration::BuiltIn);
  Words words;
  if (builtin == static_cast<uint32_t>(spv::BuiltIn::GlobalInvocationId)) {
    words.assign(invocation.global_id.begin(), invocation.global_id.end());
  } else if (builtin == static_cast<uint32_t>(spv::BuiltIn::FragCoord)) {
    for (const float part : invocation.frag_coord) words.push_back(as_word(part));
  } else if (builtin == static_cast<uint32_t>(spv::BuiltIn::VertexIndex)) {
    words.push_back(invocation.vertex_index);
  } else {
    throw std::runtime_error("the oracle does not know an input");
  }
  globals_[variable] = new_object(words);
}

Interpreter::End Interpreter::run(const Invocation& invocation) {
  objects_.assign(1, {});
  globals_.clear();
  is_helper_ = false;
  open_.clear();
  depth_ = 0;
  uint32_t output = 0;
  for (uint32_t i = 0; i < module_.functions().front().begin; ++i) {
    const Instruction instruction = module_.instruction(i);
    if (instruction.opcode() != Op::OpVariable) continue;
    const uint32_t id = instruction.result_id();
    const uint32_t type = module_.definition(instruction.type_id())->operand(1);
    switch (static_cast<StorageClass>(instruction.operand(0))) {
      case StorageClass::StorageBuffer:
      case StorageClass::Uniform:
        globals_[id] = kBufferObject;
        break;
      case StorageClass::Input:
        set_input(id, invocation);
        break;
      case StorageClass::Output:
        output = id;
        [[fallthrough]];
      default:
        globals_[id] =
            new_object(instruction.operand_count() > 1 ? constants_.at(instruction.operand(1))
                                                       : Words(size_of(type)));
        break;
    }
  }
  End end;
  try {
    call(entry_->function_id, {});
  } catch (const Killed&) {
    end.discarded = true;
  }
  end.discarded |= is_helper_;
  if (output != 0) end.output = objects_[globals_[output]];
  return end;
}

std::vector<uint64_t> Interpreter::executions() const {
  std::vector<uint64_t> executions;
  for (const uint32_t f : module_.reachable_functions(entry_->function_id)) {
    for (const auto& block : module_.blocks_of(module_.functions()[f])) {
      const auto count = counts_.find(block.label_id);
      executions.push_back(count == counts_.end() ? 0 : count->second);
    }
  }
  return executions;
}

std::map<std::pair<uint32_t, uint32_t>, uint64_t> Interpreter::edges() const {
  std::map<uint32_t, uint32_t> numbers;  // by label
  for (const uint32_t f : module_.reachable_functions(entry_->function_id)) {
    for (const auto& block : module_.blocks_of(module_.functions()[f])) {
      numbers.emplace(block.label_id, static_cast<uint32_t>(numbers.size()));
    }
  }
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> edges;
  for (const auto& [labels, times] : edges_) {
    edges[{numbers.at(labels.first), numbers.at(labels.second)}] = times;
  }
  return edges;
}

const Interpreter::Words& Interpreter::value(const Frame& frame, uint32_t id) const {
  const auto local = frame.values.find(id);
  return local != frame.values.end() ? local->second : constants_.at(id);
}

Interpreter::Words Interpreter::call(uint32_t function_id, const std::vector<Words>& arguments) {
  const spirv::Function& function = module_.functions()[module_.function_index(function_id)];
  Frame frame;
  size_t next = 0;
  const auto blocks = module_.blocks_of(function);
  for (uint32_t i = function.begin; i < blocks.front().begin; ++i) {
    const Instruction instruction = module_.instruction(i);
    if (instruction.opcode() == Op::OpFunctionParameter) {
      frame.values[instruction.result_id()] = arguments.at(next++);
    }
  }
  Words result;
  uint32_t previous = 0;
  ++depth_;
  for (uint32_t label = blocks.front().label_id; label != 0;) {
    enter_block(label);
    const uint32_t target = run_block(frame, label, previous, result);
    if (!is_helper_ && target != 0) ++edges_[{label, target}];
    leave_block(label, target);
    previous = label;
    label = target;
  }
  --depth_;
  return result;
}

void Interpreter::enter_block(uint32_t label) {
  for (uint32_t i = module_.definition_index(label) + 1;; ++i) {
    const Instruction instruction = module_.instruction(i);
    if (spirv::is_terminator(instruction.opcode())) return;
    if (instruction.opcode() != Op::OpLoopMerge) continue;
    const bool again =
        !open_.empty() && open_.back().header == label && open_.back().depth == depth_;
    if (!again) {
      const uint32_t merge = instruction.operand(0);
      open_.push_back(
          {label, merge, first_test(label, merge, instruction.operand(1)), i, 0, depth_});
    }
    if (open_.back().test == 0) ++open_.back().length;
    return;
  }
}

void Interpreter::leave_block(uint32_t label, uint32_t target) {
  const auto is_inside = [&] { return !open_.empty() && open_.back().depth == depth_; };
  while (is_inside() && (target == 0 || target == open_.back().merge)) {
    end_run(open_.back());
    open_.pop_back();
  }
  if (is_inside() && open_.back().test == label) ++open_.back().length;
}

uint32_t Interpreter::first_test(uint32_t header, uint32_t merge, uint32_t continues) const {
  for (uint32_t label = header;;) {
    uint32_t i = module_.definition_index(label);
    bool is_loop = false;
    while (!spirv::is_terminator(module_.instruction(i).opcode())) {
      is_loop = is_loop || module_.instruction(i).opcode() == Op::OpLoopMerge;
      ++i;
    }
    const Instruction branch = module_.instruction(i);
    if (label != header && (is_loop || label == continues)) return 0;
    if (branch.opcode() == Op::OpBranchConditional && branch.operand(1) != branch.operand(2)) {
      const bool leaves = branch.operand(1) == merge || branch.operand(2) == merge;
      const bool repeats = branch.operand(1) == header || branch.operand(2) == header;
      return leaves && !repeats ? label : 0;
    }
    if (branch.opcode() != Op::OpBranch) return 0;
    label = branch.operand(0);
    if (label == header || label == merge) return 0;
  }
}

void Interpreter::end_run(const OpenLoop& loop) {
  if (!is_helper_) runs_[loop.instruction].push_back(loop.length);
}

// Runs that have not begun an iteration do not count.
void Interpreter::end_runs_of_invocation() {
  for (OpenLoop& loop : open_) {
    if (loop.length != 0) end_run(loop);
    loop.length = 0;
  }
}

uint32_t Interpreter::run_block(Frame& frame, uint32_t label, uint32_t previous, Words& result) {
  if (!is_helper_) ++counts_[label];
  uint32_t i = module_.definition_index(label) + 1;
  std::map<uint32_t, Words> phis;  // all phis of a block are read before any is written
  for (; module_.instruction(i).opcode() == Op::OpPhi; ++i) {
    const Instruction phi = module_.instruction(i);
    for (size_t k = 0; k + 1 < phi.operand_count(); k += 2) {
      if (phi.operand(k + 1) == previous) phis[phi.result_id()] = value(frame, phi.operand(k));
    }
  }
  for (auto& [id, words] : phis) frame.values[id] = words;
  for (;; ++i) {
    const Instruction instruction = module_.instruction(i);
    if (++steps_ > kMaxSteps) throw std::runtime_error("the program does not end");
    switch (instruction.opcode()) {
      case Op::OpBranch:
        return instruction.operand(0);
      case Op::OpBranchConditional:
        return instruction.operand(scalar(frame, instruction.operand(0)) != 0 ? 1 : 2);
      case Op::OpSwitch:
        return switch_target(frame, instruction);
      case Op::OpReturnValue:
        result = value(frame, instruction.operand(0));
        return 0;
      case Op::OpReturn:
        return 0;
      case Op::OpKill:
      case Op::OpTerminateInvocation:
        end_runs_of_invocation();
        throw Killed{};
      case Op::OpUnreachable:
        throw std::runtime_error("the program reaches OpUnreachable");
      default:
        execute(frame, instruction);
    }
  }
}

uint32_t Interpreter::switch_target(const Frame& frame, const Instruction& instruction) const {
  const uint32_t selector = scalar(frame, instruction.operand(0));
  for (size_t i = 2; i + 1 < instruction.operand_count(); i += 2) {
    if (instruction.operand(i) == selector) return instruction.operand(i + 1);
  }
  return instruction.operand(1);
}

void Interpreter::execute(Frame& frame, const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Op::OpVariable: {
      const uint32_t type = module_.definition(instruction.type_id())->operand(1);
      frame.values[instruction.result_id()] = {new_object(Words(size_of(type))), 0};
      return;
    }
    case Op::OpStore: {
      const Words pointer = access_chain(frame, instruction);
      const Words& words = value(frame, instruction.operand(1));
      const bool outside = pointer[0] == kBufferObject;
      if (outside && is_helper_) return;
      Words& object = outside ? buffer_ : objects_.at(pointer[0]);
      for (size_t i = 0; i < words.size(); ++i) object.at(pointer[1] + i) = words[i];
      return;
    }
    case Op::OpDemoteToHelperInvocation:
      end_runs_of_invocation();
      is_helper_ = true;
      return;
    case Op::OpFunctionCall: {
      std::vector<Words> arguments;
      for (size_t i = 1; i < instruction.operand_count(); ++i) {
        arguments.push_back(value(frame, instruction.operand(i)));
      }
      frame.values[instruction.result_id()] = call(instruction.operand(0), arguments);
      return;
    }
    case Op::OpSelectionMerge:
    case Op::OpLoopMerge:
    case Op::OpLine:
    case Op::OpNoLine:
      return;
    case Op::OpExtInst:
      if (spirv::is_debug_information(module_.ext_inst_set(instruction.operand(0)))) return;
      [[fallthrough]];
    default:
      frame.values[instruction.result_id()] = compute(frame, instruction);
  }
}

Interpreter::Words Interpreter::compute(Frame& frame, const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Op::OpAccessChain:
    case Op::OpInBoundsAccessChain:
      return access_chain(frame, instruction);
    case Op::OpLoad: {
      const Words pointer = access_chain(frame, instruction);
      const Words& object = pointer[0] == kBufferObject ? buffer_ : objects_.at(pointer[0]);
      const auto first = object.begin() + pointer[1];
      return {first, first + size_of(instruction.type_id())};
    }
    case Op::OpCompositeExtract:
      return {value(frame, instruction.operand(0)).at(instruction.operand(1))};
    case Op::OpCompositeConstruct: {
      Words words;
      for (const uint32_t part : instruction.operands()) {
        const Words& more = value(frame, part);
        words.insert(words.end(), more.begin(), more.end());
      }
      return words;
    }
    case Op::OpSelect:
      return value(frame, instruction.operand(scalar(frame, instruction.operand(0)) != 0 ? 1 : 2));
    default:
      break;
  }
  const uint32_t a = scalar(frame, instruction.operand(0));
  if (instruction.operand_count() == 1) return {unary(instruction, a)};
  return {binary(instruction, a, scalar(frame, instruction.operand(1)))};
}

// The pointer computed by an access chain, or used by a load or store.
Interpreter::Words Interpreter::access_chain(Frame& frame, const Instruction& instruction) {
  const uint32_t base = instruction.operand(0);
  const auto global = globals_.find(base);
  Words pointer = global != globals_.end() ? Words{global->second, 0} : value(frame, base);
  const bool is_chain = instruction.opcode() == Op::OpAccessChain ||
                        instruction.opcode() == Op::OpInBoundsAccessChain;
  uint32_t type = module_.definition(module_.type_of(base))->operand(1);
  for (size_t i = 1; is_chain && i < instruction.operand_count(); ++i) {
    const uint32_t index = scalar(frame, instruction.operand(i));
    const Instruction composite = *module_.definition(type);
    if (composite.opcode() == Op::OpTypeStruct) {
      for (uint32_t member = 0; member < index; ++member) {
        pointer[1] += size_of(composite.operand(member));
      }
      type = composite.operand(index);
    } else {
      type = composite.operand(0);
      pointer[1] += index * size_of(type);
    }
  }
  return pointer;
}

}  // namespace tally::test
