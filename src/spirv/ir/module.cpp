#include "spirv/ir/module.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "spirv/ir/opcode.h"

namespace tally::spirv {

Instruction::Instruction(std::span<const uint32_t> words, uint32_t offset)
    : words_(words), offset_(offset) {
  const OpcodeLayout layout = opcode_layout(opcode());
  has_type_ = layout.has_type;
  has_result_ = layout.has_result;
}

std::span<const uint32_t> Instruction::operands() const {
  return words_.subspan(std::min(first_operand(), words_.size()));
}

size_t Instruction::after_string(size_t index) const {
  // A word with a zero byte is the last.
  const auto is_last = [](uint32_t word) {
    return ((word - 0x01010101) & ~word & 0x80808080) != 0;
  };
  size_t at = first_operand() + index;
  while (at < words_.size() && !is_last(words_[at])) ++at;
  return std::min(at + 1, words_.size()) - first_operand();
}

std::string Instruction::string(size_t index, size_t limit) const {
  std::string text;
  for (size_t at = first_operand() + index; at < words_.size(); ++at) {
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      const char byte = static_cast<char>(words_[at] >> shift);
      if (byte == '\0' || text.size() == limit) return text;
      text.push_back(byte);
    }
  }
  return text;
}

namespace {

// The functions that decode what OpCooperativeMatrixLoadTensorNV reads, by element and by vector.
// The memory operands precede the tensor operands. Each is a mask, then one id for each set bit.
CalledFunctions decode_functions(const Instruction& load) {
  constexpr uint32_t kMemoryOperandsWithId = 0x2 | 0x8 | 0x10 | 0x10000 | 0x20000;
  constexpr uint32_t kTensorView = 1;
  constexpr uint32_t kDecodeFunction = 2;
  constexpr uint32_t kDecodeVectorFunction = 4;
  const size_t tensor =
      4 + static_cast<size_t>(std::popcount(load.operand(3) & kMemoryOperandsWithId));
  const uint32_t mask = load.operand(tensor);
  size_t next = tensor + 1 + (mask & kTensorView);
  CalledFunctions called;
  if (mask & kDecodeFunction) called.first = load.operand(next++);
  if (mask & kDecodeVectorFunction) called.second = load.operand(next);
  return called;
}

}  // namespace

CalledFunctions called_functions(const Instruction& instruction) {
  const spv::Op opcode = instruction.opcode();
  if (opcode == spv::Op::OpFunctionCall) return {instruction.operand(0)};
  if (opcode == newer::OpCooperativeMatrixPerElementOpNV) return {instruction.operand(1)};
  if (opcode == newer::OpCooperativeMatrixReduceNV) return {instruction.operand(2)};
  if (opcode == newer::OpCooperativeMatrixLoadTensorNV) return decode_functions(instruction);
  return {};
}

CallGraph::CallGraph(uint32_t function_count, std::vector<Call> calls)
    : first_(function_count + size_t{1}) {
  const auto ends = [](const Call& call) { return std::pair(call.caller, call.callee); };
  std::vector<uint32_t> called_by_matrices;
  for (const Call& call : calls) {
    if (call.by_matrix) called_by_matrices.push_back(call.callee);
  }
  std::ranges::sort(calls, {}, ends);
  const auto same_ends = [&](const Call& a, const Call& b) { return ends(a) == ends(b); };
  calls.erase(std::unique(calls.begin(), calls.end(), same_ends), calls.end());
  for (const Call& call : calls) {
    ++first_[call.caller + 1];
    callees_.push_back(call.callee);
  }
  for (size_t function = 0; function < function_count; ++function) {
    first_[function + 1] += first_[function];
  }
  called_by_matrices_ = flood(std::move(called_by_matrices));
}

// Marks functions and all that they may call.
std::vector<bool> CallGraph::flood(std::vector<uint32_t> open) const {
  std::vector<bool> seen(function_count());
  for (const uint32_t function : open) seen[function] = true;
  while (!open.empty()) {
    const uint32_t function = open.back();
    open.pop_back();
    for (const uint32_t callee : callees(function)) {
      if (!seen[callee]) open.push_back(callee);
      seen[callee] = true;
    }
  }
  return seen;
}

std::span<const uint32_t> CallGraph::callees(uint32_t function) const {
  return std::span(callees_).subspan(first_[function], first_[function + 1] - first_[function]);
}

std::vector<uint32_t> CallGraph::reachable_from(uint32_t function) const {
  if (function == kNone) return {};
  const std::vector<bool> seen = flood({function});
  std::vector<uint32_t> reached;
  for (uint32_t index = 0; index < seen.size(); ++index) {
    if (seen[index]) reached.push_back(index);
  }
  return reached;
}

std::vector<uint32_t> CallGraph::callees_first(uint32_t function) const {
  if (function == kNone) return {};
  struct Visit {
    uint32_t function;
    size_t next;  // of its callees
  };
  std::vector<bool> seen(function_count());
  std::vector<uint32_t> order;
  std::vector<Visit> open = {{function, 0}};
  seen[function] = true;
  while (!open.empty()) {
    Visit& visit = open.back();
    const auto called = callees(visit.function);
    if (visit.next == called.size()) {
      order.push_back(visit.function);
      open.pop_back();
      continue;
    }
    const uint32_t callee = called[visit.next++];
    if (seen[callee]) continue;
    seen[callee] = true;
    open.push_back({callee, 0});
  }
  return order;
}

Instruction Module::instruction(size_t index) const {
  const uint32_t begin = offsets_[index];
  return Instruction(std::span(words_).subspan(begin, offsets_[index + 1] - begin), begin);
}

std::optional<Instruction> Module::definition(uint32_t id) const {
  const uint32_t index = definition_index(id);
  if (index == kNone) return std::nullopt;
  return instruction(index);
}

spv::Op Module::opcode_of(uint32_t id) const {
  const uint32_t index = definition_index(id);
  if (index == kNone) return spv::Op::OpNop;
  return static_cast<spv::Op>(words_[offsets_[index]] & spv::OpCodeMask);
}

uint32_t Module::type_of(uint32_t id) const {
  const uint32_t index = definition_index(id);
  return index == kNone ? 0 : instruction(index).type_id();
}

bool Module::is_global_variable(uint32_t id) const {
  const uint32_t index = definition_index(id);
  const bool is_global = functions_.empty() || index < functions_.front().begin;
  if (index == kNone || !is_global) return false;
  const spv::Op opcode = opcode_of(id);
  return opcode == spv::Op::OpVariable || opcode == newer::OpUntypedVariableKHR;
}

const EntryPoint* Module::find_entry_point(spv::ExecutionModel model, std::string_view name) const {
  for (const EntryPoint& entry : entry_points_) {
    if (entry.model == model && entry.name == name) return &entry;
  }
  return nullptr;
}

uint32_t Module::function_index(uint32_t function_id) const {
  const uint32_t definition = definition_index(function_id);
  if (definition == kNone) return kNone;
  const auto found =
      std::lower_bound(functions_.begin(), functions_.end(), definition,
                       [](const Function& function, uint32_t at) { return function.begin < at; });
  if (found == functions_.end() || found->begin != definition) return kNone;
  return static_cast<uint32_t>(found - functions_.begin());
}

std::string Module::name_of(uint32_t id) const {
  const std::span<const uint32_t> found = names_.of(id);
  return found.empty() ? std::string() : instruction(found.front()).string(1);
}

std::span<const uint32_t> Module::About::of(uint32_t id) const {
  const auto [begin, end] = std::equal_range(ids.begin(), ids.end(), id);
  return std::span(instructions)
      .subspan(static_cast<size_t>(begin - ids.begin()), static_cast<size_t>(end - begin));
}

std::optional<uint32_t> Module::decoration(uint32_t id, spv::Decoration decoration) const {
  for (const uint32_t index : decorations_of(id)) {
    const Instruction found = instruction(index);
    if (found.opcode() == spv::Op::OpDecorate &&
        found.operand(1) == static_cast<uint32_t>(decoration)) {
      return found.operand(2);
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> Module::member_decoration(uint32_t struct_id, uint32_t member,
                                                  spv::Decoration decoration) const {
  for (const uint32_t index : decorations_of(struct_id)) {
    const Instruction found = instruction(index);
    if (found.opcode() == spv::Op::OpMemberDecorate && found.operand(1) == member &&
        found.operand(2) == static_cast<uint32_t>(decoration)) {
      return found.operand(3);
    }
  }
  return std::nullopt;
}

bool Module::decorates_in_groups() const {
  for (size_t index = 0; index < instruction_count(); ++index) {
    const spv::Op opcode = instruction(index).opcode();
    if (opcode == spv::Op::OpGroupDecorate || opcode == spv::Op::OpGroupMemberDecorate) return true;
    if (opcode == spv::Op::OpFunction) return false;
  }
  return false;
}

bool Module::has_spec_id(uint32_t spec_id) const {
  return std::ranges::any_of(decorations(), [&](uint32_t index) {
    const Instruction found = instruction(index);
    return found.opcode() == spv::Op::OpDecorate &&
           found.operand(1) == static_cast<uint32_t>(spv::Decoration::SpecId) &&
           found.operand(2) == spec_id;
  });
}

bool Module::has_capability(spv::Capability capability) const {
  return std::find(capabilities_.begin(), capabilities_.end(), static_cast<uint32_t>(capability)) !=
         capabilities_.end();
}

bool Module::has_extension(std::string_view name) const {
  return std::any_of(extensions_.begin(), extensions_.end(),
                     [&](uint32_t index) { return instruction(index).string(0) == name; });
}

uint32_t Module::ext_inst_import(std::string_view name) const {
  for (const Import& import : imports_) {
    if (instruction(import.instruction).string(0) == name) return import.id;
  }
  return 0;
}

ExtInstSet Module::ext_inst_set(uint32_t import_id) const {
  const uint32_t index = definition_index(import_id);
  const auto found = std::ranges::lower_bound(imports_, index, {}, &Import::instruction);
  return found == imports_.end() || found->instruction != index ? ExtInstSet::None : found->set;
}

uint32_t selector_words(const Module& module, uint32_t selector) {
  const std::optional<Instruction> type = module.definition(module.type_of(selector));
  return type && type->opcode() == spv::Op::OpTypeInt && type->operand(0) > 32 ? 2 : 1;
}

namespace {

constexpr uint64_t kMaxSize = std::numeric_limits<uint32_t>::max();

constexpr auto size_product = saturating_product<kMaxSize>;

TypeShape scalar(TypeShape::Kind kind, uint32_t width) {
  TypeShape shape;
  shape.kind = kind;
  shape.width = static_cast<uint8_t>(std::min(width, 255u));
  shape.bytes = (shape.width + 7u) / 8u;
  return shape;
}

}  // namespace

TypeTable::TypeTable(const Module& module) : module_(&module) {
  const size_t count = module.declarations_end();
  shapes_.reserve(count);
  for (size_t index = 0; index < count; ++index) {
    shapes_.push_back(make(module.instruction(index)));
  }
}

const TypeShape& TypeTable::shape(uint32_t type_id) const {
  static constexpr TypeShape kNoType;
  const uint32_t index = module_->definition_index(type_id);
  return index < shapes_.size() ? shapes_[index] : kNoType;
}

// Finds only types declared before: a forward reference, which only a pointer may have, gives None.
TypeShape TypeTable::make(const Instruction& type) {
  using Kind = TypeShape::Kind;
  switch (type.opcode()) {
    case spv::Op::OpTypeBool:
      return scalar(Kind::Bool, 32);
    case spv::Op::OpTypeInt:
      return scalar(Kind::Int, type.operand(0));
    case spv::Op::OpTypeFloat:
      return scalar(Kind::Float, type.operand(0));
    case spv::Op::OpTypePointer:
      return scalar(Kind::Pointer, 64);
    case spv::Op::OpTypeVector:
      return repeated(shape(type.operand(0)), type.operand(1));
    case spv::Op::OpTypeMatrix: {
      const TypeShape& column = shape(type.operand(0));
      TypeShape matrix = repeated(column, type.operand(1));
      matrix.rows = column.components;
      matrix.columns = type.operand(1);
      return matrix;
    }
    case spv::Op::OpTypeArray:
      return repeated(shape(type.operand(0)), constant_or_one(type.operand(1)));
    case spv::Op::OpTypeStruct:
      return composite(type);
    case spv::Op::OpTypeCooperativeMatrixNV:
      return cooperative_matrix(type);
    default:
      break;
  }
  if (type.opcode() == newer::OpTypeUntypedPointerKHR) return scalar(Kind::Pointer, 64);
  if (type.opcode() == newer::OpTypeVectorIdEXT) {
    return repeated(shape(type.operand(0)), constant_or_one(type.operand(1)));
  }
  if (type.opcode() == newer::OpTypeCooperativeMatrixKHR) return cooperative_matrix(type);
  return {};
}

uint64_t TypeTable::constant_or_one(uint32_t id) {
  depends_on_specialization_ |= module_->is_specialization_constant(id);
  return std::min(module_->constant_value(id).value_or(1), kMaxSize);
}

TypeShape TypeTable::cooperative_matrix(const Instruction& type) {
  TypeShape matrix;
  matrix.kind = TypeShape::Kind::CooperativeMatrix;
  matrix.rows = constant_or_one(type.operand(2));
  matrix.columns = constant_or_one(type.operand(3));
  return matrix;
}

// Components of 4 or 6 bits are packed.
TypeShape TypeTable::repeated(TypeShape element, uint64_t count) const {
  const bool packed = element.components == 1 && element.width % 8 != 0;
  element.components = size_product(element.components, count);
  element.bytes =
      packed ? (size_product(element.width, count) + 7) / 8 : size_product(element.bytes, count);
  element.rows = element.components;
  element.columns = 1;
  return element;
}

TypeShape TypeTable::composite(const Instruction& type) const {
  TypeShape all;
  all.kind = TypeShape::Kind::Composite;
  all.components = 0;
  for (const uint32_t member : type.operands()) {
    const TypeShape& one = shape(member);
    all.components = saturating_sum<kMaxSize>(all.components, one.components);
    all.bytes = saturating_sum<kMaxSize>(all.bytes, one.bytes);
  }
  return all;
}

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
