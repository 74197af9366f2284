#include "spirv/ir/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_set>

#include "base/hash.h"
#include "spirv/ir/instruction_builder.h"
#include "spirv/ir/opcode.h"

namespace tally::spirv {
namespace {

using spv::Op;

// The expansion is the product of decorations and targets.
constexpr size_t kMaxUngroupedWords = size_t{1} << 24;

// One decoration stands for all that exclude each other, also with other operands.
std::optional<spv::Decoration> excluded_by(spv::Decoration decoration) {
  switch (decoration) {
    case spv::Decoration::ArrayStride:
    case spv::Decoration::MatrixStride:
    case spv::Decoration::Offset:
      return decoration;
    case spv::Decoration::RowMajor:
    case spv::Decoration::ColMajor:
      return spv::Decoration::RowMajor;
    case spv::Decoration::Block:
    case spv::Decoration::BufferBlock:
      return spv::Decoration::Block;
    case spv::Decoration::Restrict:
    case spv::Decoration::Aliased:
      return spv::Decoration::Restrict;
    default:
      return std::nullopt;
  }
}

// A target may have a decoration of a group already, from another group or by itself. Most
// decorations may not be repeated. Validators look for contradictions, and for built-ins that are
// neither variables nor constants, where a target is decorated by itself: such decorations of a
// group are left out, so that what they accept with groups they accept without.
class Writer {
 public:
  explicit Writer(const Module& module)
      : module_(module), decorations_(module.words().begin(), module.words().end()) {}

  Result<std::vector<uint32_t>> write() {
    const auto header = module_.words().first(kHeaderWords);
    words_.assign(header.begin(), header.end());
    for (const uint32_t index : module_.decorations()) {
      known_.insert(module_.word_offset(index));
      const Instruction decoration = module_.instruction(index);
      (void)is_new(decoration.opcode(), decoration.operands());
    }
    for (uint32_t index = 0; index < module_.instruction_count(); ++index) {
      TALLY_TRY(add(module_.instruction(index)));
    }
    return std::move(words_);
  }

 private:
  Status add(const Instruction& instruction) {
    switch (instruction.opcode()) {
      case Op::OpDecorationGroup:
        return {};
      case Op::OpGroupDecorate:
        return decorate(instruction);
      case Op::OpGroupMemberDecorate:
        return decorate_members(instruction);
      case Op::OpName:
      case Op::OpDecorate:
      case Op::OpDecorateId:
      case Op::OpDecorateString:
        if (is_group(instruction.operand(0))) return {};
        break;
      default:
        break;
    }
    words_.insert(words_.end(), instruction.words().begin(), instruction.words().end());
    return {};
  }

  bool is_group(uint32_t id) const { return module_.opcode_of(id) == Op::OpDecorationGroup; }

  Status decorate(const Instruction& group) {
    for (size_t i = 1; i < group.operand_count(); ++i) {
      const uint32_t target[] = {group.operand(i)};
      TALLY_TRY(write_out(group.operand(0), target));
    }
    return {};
  }

  Status decorate_members(const Instruction& group) {
    for (size_t i = 1; i + 1 < group.operand_count(); i += 2) {
      const uint32_t target[] = {group.operand(i), group.operand(i + 1)};
      TALLY_TRY(write_out(group.operand(0), target));
    }
    return {};
  }

  // Writes the group's decorations for an id or for a member of a struct.
  Status write_out(uint32_t group, std::span<const uint32_t> target) {
    for (const uint32_t index : module_.decorations_of(group)) {
      const Instruction decoration = module_.instruction(index);
      const auto opcode = opcode_for(decoration.opcode(), target.size() == 2);
      if (!opcode)
        return Error{"SPIR-V: a decoration group has a decoration that members cannot have"};
      std::vector<uint32_t> operands(target.begin(), target.end());
      const auto what = decoration.operands().subspan(1);
      operands.insert(operands.end(), what.begin(), what.end());
      written_ += 1 + operands.size();
      if (operands.size() >= kMaxInstructionWords || written_ >= kMaxUngroupedWords) {
        return Error{"SPIR-V: the decoration groups are too large"};
      }
      add_once(*opcode, operands);
    }
    return {};
  }

  // False if the target has a decoration that excludes this one.
  bool is_new(Op opcode, std::span<const uint32_t> operands) {
    const bool of_member = opcode == Op::OpMemberDecorate;
    if (!of_member && opcode != Op::OpDecorate) return true;
    const auto kind = excluded_by(static_cast<spv::Decoration>(operands[of_member ? 2 : 1]));
    return !kind || exclusive_.insert({operands[0], of_member ? operands[1] : kNone, *kind}).second;
  }

  bool is_misplaced_built_in(Op opcode, std::span<const uint32_t> operands) const {
    if (opcode != Op::OpDecorate ||
        static_cast<spv::Decoration>(operands[1]) != spv::Decoration::BuiltIn) {
      return false;
    }
    const Op target = module_.opcode_of(operands[0]);
    const bool is_constant = target >= Op::OpConstantTrue && target <= Op::OpSpecConstantOp;
    return target != Op::OpVariable && target != newer::OpUntypedVariableKHR && !is_constant;
  }

  void add_once(Op opcode, std::span<const uint32_t> operands) {
    if (is_misplaced_built_in(opcode, operands)) return;
    const auto offset = static_cast<uint32_t>(decorations_.size());
    append_instruction(decorations_, opcode, operands);
    if (known_.insert(offset).second && is_new(opcode, operands)) {
      words_.insert(words_.end(), decorations_.begin() + offset, decorations_.end());
    } else {
      decorations_.resize(offset);
    }
  }

  std::span<const uint32_t> decoration_at(uint32_t offset) const {
    return std::span(decorations_).subspan(offset, decorations_[offset] >> spv::WordCountShift);
  }

  static std::optional<Op> opcode_for(Op opcode, bool of_member) {
    if (!of_member) return opcode;
    if (opcode == Op::OpDecorate) return Op::OpMemberDecorate;
    if (opcode == Op::OpDecorateString) return Op::OpMemberDecorateString;
    return std::nullopt;
  }

  // The keys are offsets of decorations_; the words there are compared.
  struct HashOfWords {
    const Writer& writer;
    size_t operator()(uint32_t offset) const {
      uint64_t hash = 0;
      for (const uint32_t word : writer.decoration_at(offset)) hash = hash_combine(hash, word);
      return hash;
    }
  };
  struct SameWords {
    const Writer& writer;
    bool operator()(uint32_t a, uint32_t b) const {
      return std::ranges::equal(writer.decoration_at(a), writer.decoration_at(b));
    }
  };

  const Module& module_;
  std::vector<uint32_t> words_;
  std::vector<uint32_t> decorations_;  // the module, and behind it those of groups
  std::unordered_set<uint32_t, HashOfWords, SameWords> known_{0, HashOfWords{*this},
                                                              SameWords{*this}};
  // Target, member (kNone: the target itself), excluded_by().
  std::set<std::tuple<uint32_t, uint32_t, spv::Decoration>> exclusive_;
  size_t written_ = 0;  // words for groups, the repeated ones included
};

}  // namespace

Result<Module> parse_without_groups(std::span<const uint32_t> words) {
  auto module = Module::parse(words);
  if (!module || !module->decorates_in_groups()) return module;
  const auto written = TALLY_TRY(Writer(*module).write());
  return Module::parse(written);
}

// Builds a Module from untrusted words. One pass splits them into instructions and finds
// definitions, functions, blocks and calls; the tables by id are sorted at the end. Private to
// parser.cpp.

class ModuleParser {
 public:
  explicit ModuleParser(std::span<const uint32_t> words) : input_(words) {}
  Result<Module> parse();

 private:
  // An id and the index of an instruction about it.
  struct Row {
    uint32_t id, instruction;
  };
  struct CallById {
    uint32_t caller;     // index of the function
    uint32_t callee_id;  // may be defined later
    bool by_matrix;
  };

  Status header();
  Status split();
  Status define(const Instruction& instruction);
  Status check_operands(const Instruction& instruction);
  Status refuse_cycles() const;
  uint32_t& definition_of(uint32_t id);
  Status structure(const Instruction& instruction);
  Status inside_function(const Instruction& instruction);
  void note_calls(const Instruction& instruction);
  void collect(const Instruction& instruction);
  void sort_tables();
  void build_call_graph();
  static Module::About sorted(std::vector<Row> rows);
  Error error_at(uint32_t offset, std::string_view what) const;
  uint32_t index() const { return static_cast<uint32_t>(module_.offsets_.size() - 1); }

  std::span<const uint32_t> input_;
  Module module_;
  bool in_function_ = false;
  bool in_block_ = false;
  std::vector<Row> names_, decorations_, execution_modes_;
  std::vector<CallById> calls_;
  std::vector<uint32_t> early_uses_;  // instructions with operands that are defined later
  std::unordered_set<uint32_t> forward_pointers_;  // ids
};

namespace {

constexpr uint32_t byte_swapped(uint32_t word) {
  return word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24;
}

// Instructions that may occur between the blocks of a function, because they are not executed.
bool may_stand_between_blocks(spv::Op opcode) {
  return is_line(opcode) || opcode == spv::Op::OpExtInst || !opcode_layout(opcode).known;
}

ExtInstSet ext_inst_set_of(std::string_view name) {
  if (name == "GLSL.std.450") return ExtInstSet::Glsl450;
  if (name == "SPV_AMD_shader_ballot") return ExtInstSet::AmdShaderBallot;
  if (name == "SPV_AMD_shader_trinary_minmax") return ExtInstSet::AmdTrinaryMinMax;
  if (name == "SPV_AMD_shader_explicit_vertex_parameter") {
    return ExtInstSet::AmdExplicitVertexParameter;
  }
  if (name == "OpenCL.DebugInfo.100") return ExtInstSet::OpenClDebugInfo100;
  // Later versions only add to .100.
  if (name.starts_with("NonSemantic.Shader.DebugInfo")) return ExtInstSet::ShaderDebugInfo100;
  if (name.starts_with("NonSemantic.")) return ExtInstSet::NonSemantic;
  return ExtInstSet::Other;
}

// Calls visit(id) for the type and for the operands of an instruction whose definitions come before
// it: not for those of a phi, the function that a call calls, and debug information.
template <typename Visit>
void for_each_dependency(const Module& module, const Instruction& instruction, Visit&& visit) {
  const spv::Op opcode = instruction.opcode();
  OpcodeLayout layout = opcode_layout(opcode);
  if (!layout.has_result) return;
  if (layout.has_type) visit(instruction.type_id());
  size_t first = 0;
  if (opcode == spv::Op::OpSpecConstantOp) {
    layout = opcode_layout(static_cast<spv::Op>(instruction.operand(0)));
    first = 1;
  }
  if (layout.ids == 0) return;
  if (opcode == newer::OpExtInstWithForwardRefsKHR ||
      (opcode == spv::Op::OpExtInst &&
       is_debug_information(module.ext_inst_set(instruction.operand(0))))) {
    return;
  }
  const auto operands = instruction.operands();
  for (size_t i = opcode == spv::Op::OpFunctionCall ? 1 : first; i < operands.size(); ++i) {
    if (layout.is_id(i - first)) visit(operands[i]);
  }
}

// Calls visit(id) for the ids behind masks of memory operands, of which the first is at `mask`.
template <typename Visit>
void for_each_memory_id(std::span<const uint32_t> operands, size_t mask, Visit&& visit) {
  constexpr uint32_t kAligned = 2, kAvailable = 8, kVisible = 16, kKnown = 63;
  while (mask < operands.size() && operands[mask] <= kKnown) {
    const uint32_t bits = operands[mask++];
    if (bits & kAligned) ++mask;
    for (const uint32_t bit : {kAvailable, kVisible}) {
      if ((bits & bit) && mask < operands.size()) visit(operands[mask++]);
    }
  }
}

// The number of operands before the mask of memory operands; 0: the instruction has none that this
// file follows.
size_t operands_before_memory(spv::Op opcode) {
  switch (opcode) {
    case spv::Op::OpLoad:
      return 1;
    case spv::Op::OpStore:
    case spv::Op::OpCopyMemory:
      return 2;
    case spv::Op::OpCopyMemorySized:
      return 3;
    default:
      return 0;
  }
}

// Calls visit(id) for the type and for each operand that is an id.
template <typename Visit>
void for_each_id(const Module& module, const Instruction& instruction, Visit&& visit) {
  if (instruction.type_id() != 0) visit(instruction.type_id());
  const std::span<const uint32_t> operands = instruction.operands();
  const auto visit_from = [&](size_t first, size_t step = 1) {
    for (; first < operands.size(); first += step) visit(operands[first]);
  };
  spv::Op opcode = instruction.opcode();
  if (opcode == newer::OpExtInstWithForwardRefsKHR) opcode = spv::Op::OpExtInst;
  if (opcode == newer::OpMemberDecorateIdEXT) {
    visit(operands[0]);
    return visit_from(3);
  }
  switch (opcode) {
    case spv::Op::OpEntryPoint:
      visit(operands[1]);
      return visit_from(instruction.after_string(2));
    case spv::Op::OpExecutionModeId:
    case spv::Op::OpDecorateId:
      visit(operands[0]);
      return visit_from(2);
    case spv::Op::OpGroupMemberDecorate:
      visit(operands[0]);
      return visit_from(1, 2);
    case spv::Op::OpSwitch: {
      const size_t literal = selector_words(module, operands[0]);
      visit(operands[0]);
      visit(operands[1]);
      return visit_from(2 + literal, literal + 1);
    }
    case spv::Op::OpSpecConstantOp: {
      const OpcodeLayout layout = opcode_layout(static_cast<spv::Op>(operands[0]));
      for (size_t i = 1; i < operands.size(); ++i) {
        if (layout.is_id(i - 1)) visit(operands[i]);
      }
      return;
    }
    case spv::Op::OpExtInst: {
      // Instructions of other sets may have literals.
      const ExtInstSet set = module.ext_inst_set(operands[0]);
      const bool has_ids_alone = set != ExtInstSet::None && set != ExtInstSet::Other &&
                                 set != ExtInstSet::OpenClDebugInfo100;
      visit(operands[0]);
      return visit_from(has_ids_alone ? 2 : operands.size());
    }
    case spv::Op::OpPhi:
      return visit_from(0);
    default:
      break;
  }
  const OpcodeLayout layout = opcode_layout(opcode);
  if (layout.cost >= CostRule::TextureSample && layout.cost <= CostRule::ImageLoad) {
    for_each_operand(instruction, [&](uint32_t operand, bool is_id) {
      if (is_id) visit(operand);
    });
    return;
  }
  size_t end = operands.size();
  if (const size_t mask = operands_before_memory(opcode); mask != 0) {
    for_each_memory_id(operands, mask, visit);
    end = std::min(end, mask);
  }
  for (size_t i = 0; i < end && layout.ids >> std::min<size_t>(i, 15) != 0; ++i) {
    if (layout.is_id(i)) visit(operands[i]);
  }
}

// True if for_each_dependency visits all that for_each_id does.
bool depends_on_all_ids(const Instruction& instruction) {
  const OpcodeLayout layout = opcode_layout(instruction.opcode());
  return layout.has_result && layout.ids != 0 && layout.cost != CostRule::ExtInst &&
         instruction.opcode() != spv::Op::OpFunctionCall &&
         (instruction.opcode() != spv::Op::OpLoad || instruction.operand_count() == 1) &&
         !(layout.cost >= CostRule::TextureSample && layout.cost <= CostRule::ImageLoad);
}

}  // namespace

Result<Module> Module::parse(std::span<const uint32_t> words) {
  return ModuleParser(words).parse();
}

Result<Module> ModuleParser::parse() {
  TALLY_TRY(header());
  module_.words_.assign(input_.begin(), input_.end());
  input_ = module_.words_;
  TALLY_TRY(split());
  if (in_function_) {
    return error_at(static_cast<uint32_t>(input_.size()), "the module ends inside a function");
  }
  TALLY_TRY(refuse_cycles());
  sort_tables();
  build_call_graph();
  module_.fold_constants();
  return std::move(module_);
}

Status ModuleParser::header() {
  if (input_.size() < kHeaderWords) {
    return error_at(static_cast<uint32_t>(input_.size()), "shorter than a SPIR-V header");
  }
  if (input_.size() > std::numeric_limits<uint32_t>::max() / 2) return Error{"SPIR-V: too long"};
  if (input_[0] == byte_swapped(spv::MagicNumber)) {
    return error_at(0, "the words are in the other byte order");
  }
  if (input_[0] != spv::MagicNumber) return error_at(0, "no SPIR-V magic number");
  const uint32_t limit = std::max<uint32_t>(kBoundLimit, static_cast<uint32_t>(input_.size()));
  if (input_[3] == 0 || input_[3] > limit) {
    return error_at(3, fmt::format("id bound {} out of range", input_[3]));
  }
  return {};
}

Status ModuleParser::split() {
  module_.offsets_.reserve(input_.size() / 4 + 2);
  uint32_t offset = kHeaderWords;
  while (offset < input_.size()) {
    const uint32_t count = input_[offset] >> spv::WordCountShift;
    if (count == 0) return error_at(offset, "an instruction without words");
    if (count > input_.size() - offset) return error_at(offset, "the instruction is cut off");
    const Instruction instruction(input_.subspan(offset, count), offset);
    module_.offsets_.push_back(offset);
    if (count < opcode_layout(instruction.opcode()).min_words) {
      return error_at(offset, fmt::format("opcode {} with only {} words",
                                          static_cast<uint32_t>(instruction.opcode()), count));
    }
    TALLY_TRY(define(instruction));
    TALLY_TRY(check_operands(instruction));
    TALLY_TRY(structure(instruction));
    offset += count;
  }
  module_.offsets_.push_back(offset);
  return {};
}

Status ModuleParser::define(const Instruction& instruction) {
  if (instruction.word_count() < 2) return {};
  const OpcodeLayout layout = opcode_layout(instruction.opcode());
  if (!layout.has_result) return {};
  const uint32_t id = instruction.result_id();
  if (id == 0 || id >= module_.bound()) {
    return error_at(instruction.offset(), fmt::format("result id {} out of bounds", id));
  }
  uint32_t& definition = definition_of(id);
  if (definition != kNone) {
    return error_at(instruction.offset(), fmt::format("id {} is defined twice", id));
  }
  definition = index();
  return {};
}

Status ModuleParser::check_operands(const Instruction& instruction) {
  if (instruction.opcode() == spv::Op::OpTypeForwardPointer)
    forward_pointers_.insert(instruction.operand(0));
  bool is_own = false, is_early = false;
  for_each_dependency(module_, instruction, [&](uint32_t id) {
    is_own |= id == instruction.result_id();
    is_early |= module_.definition_index(id) == kNone;
  });
  if (is_own && !forward_pointers_.contains(instruction.result_id())) {
    return error_at(instruction.offset(),
                    fmt::format("id {} is its own operand", instruction.result_id()));
  }
  if (is_early) early_uses_.push_back(index());
  // Ids that are defined are below the bound.
  if (!is_early && depends_on_all_ids(instruction)) return {};
  uint32_t highest = 0;
  for_each_id(module_, instruction, [&](uint32_t id) { highest = std::max(highest, id); });
  if (highest < module_.bound()) return {};
  return error_at(instruction.offset(), fmt::format("operand id {} out of bounds", highest));
}

// So whoever follows operands comes to an end. A cycle has an operand that is defined later.
Status ModuleParser::refuse_cycles() const {
  if (early_uses_.empty()) return {};
  enum class State : uint8_t { New, Open, Done };
  std::vector<State> states(module_.instruction_count());
  struct Step {
    uint32_t instruction;
    bool is_end;  // all that it depends on is done
  };
  std::vector<Step> steps;
  for (const uint32_t use : early_uses_) steps.push_back({use, false});
  while (!steps.empty()) {
    const auto [at, is_end] = steps.back();
    steps.pop_back();
    if (is_end) states[at] = State::Done;
    if (states[at] != State::New) continue;
    states[at] = State::Open;
    steps.push_back({at, true});
    bool is_cyclic = false;
    for_each_dependency(module_, module_.instruction(at), [&](uint32_t id) {
      const uint32_t next = module_.definition_index(id);
      if (next == kNone || forward_pointers_.contains(id)) return;
      is_cyclic |= states[next] == State::Open;
      if (states[next] == State::New) steps.push_back({next, false});
    });
    if (is_cyclic) {
      const Instruction instruction = module_.instruction(at);
      return error_at(instruction.offset(),
                      fmt::format("id {} depends on itself", instruction.result_id()));
    }
  }
  return {};
}

// Compilers allocate ids consecutively, so a table is compact. A bound may be much higher than the
// ids in use, so the size of the table is limited.
uint32_t& ModuleParser::definition_of(uint32_t id) {
  if (id >= input_.size()) {
    return module_.far_definitions_.try_emplace(id, kNone).first->second;
  }
  std::vector<uint32_t>& definitions = module_.definitions_;
  if (id >= definitions.size()) {
    const size_t size = std::max<size_t>(id + 1, definitions.size() * 2);
    definitions.resize(std::min<size_t>({size, input_.size(), module_.bound()}), kNone);
  }
  return definitions[id];
}

Status ModuleParser::structure(const Instruction& instruction) {
  if (in_function_) return inside_function(instruction);
  switch (instruction.opcode()) {
    case spv::Op::OpFunction:
      in_function_ = true;
      module_.functions_.push_back({instruction.result_id(), index(), kNone,
                                    static_cast<uint32_t>(module_.blocks_.size()), 0});
      return {};
    case spv::Op::OpFunctionEnd:
    case spv::Op::OpFunctionParameter:
    case spv::Op::OpLabel:
      return error_at(instruction.offset(), "outside of a function");
    default:
      break;
  }
  if (is_terminator(instruction.opcode())) {
    return error_at(instruction.offset(), "a terminator outside of a function");
  }
  collect(instruction);
  return {};
}

Status ModuleParser::inside_function(const Instruction& instruction) {
  const spv::Op opcode = instruction.opcode();
  Function& function = module_.functions_.back();
  note_calls(instruction);
  if (opcode == spv::Op::OpFunction) return error_at(instruction.offset(), "nested function");
  if (in_block_) {
    if (opcode == spv::Op::OpLabel || opcode == spv::Op::OpFunctionEnd) {
      return error_at(instruction.offset(), "the block before has no terminator");
    }
    if (is_terminator(opcode)) {
      module_.blocks_.back().end = index() + 1;
      in_block_ = false;
    }
    return {};
  }
  if (opcode == spv::Op::OpLabel) {
    module_.blocks_.push_back({instruction.result_id(), index(), kNone});
    ++function.block_count;
    in_block_ = true;
    return {};
  }
  if (opcode == spv::Op::OpFunctionEnd) {
    function.end = index() + 1;
    in_function_ = false;
    return {};
  }
  if (opcode == spv::Op::OpFunctionParameter && function.block_count == 0) return {};
  if (may_stand_between_blocks(opcode)) return {};
  return error_at(instruction.offset(), "an instruction between blocks");
}

void ModuleParser::collect(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case spv::Op::OpCapability:
      module_.capabilities_.push_back(instruction.operand(0));
      break;
    case spv::Op::OpExtension:
      module_.extensions_.push_back(index());
      break;
    case spv::Op::OpExtInstImport:
      module_.imports_.push_back(
          {instruction.result_id(), index(), ext_inst_set_of(instruction.string(0))});
      break;
    case spv::Op::OpName:
      names_.push_back({instruction.operand(0), index()});
      break;
    case spv::Op::OpDecorate:
    case spv::Op::OpMemberDecorate:
    case spv::Op::OpDecorateId:
    case spv::Op::OpDecorateString:
    case spv::Op::OpMemberDecorateString:
      decorations_.push_back({instruction.operand(0), index()});
      break;
    case spv::Op::OpExecutionMode:
    case spv::Op::OpExecutionModeId:
      execution_modes_.push_back({instruction.operand(0), index()});
      break;
    case spv::Op::OpSpecConstant:
    case spv::Op::OpSpecConstantTrue:
    case spv::Op::OpSpecConstantFalse:
    case spv::Op::OpSpecConstantOp:
      module_.specialization_.push_back(index());
      break;
    case spv::Op::OpEntryPoint: {
      const std::span<const uint32_t> operands = instruction.operands();
      const std::span<const uint32_t> ids =
          operands.subspan(std::min(instruction.after_string(2), operands.size()));
      module_.entry_points_.push_back({static_cast<spv::ExecutionModel>(instruction.operand(0)),
                                       instruction.operand(1),
                                       instruction.string(2),
                                       {ids.begin(), ids.end()},
                                       index()});
      break;
    }
    default:
      break;
  }
}

void ModuleParser::sort_tables() {
  module_.names_ = sorted(std::move(names_));
  module_.decorations_ = sorted(std::move(decorations_));
  module_.execution_modes_ = sorted(std::move(execution_modes_));
}

Module::About ModuleParser::sorted(std::vector<Row> rows) {
  std::ranges::stable_sort(rows, {}, &Row::id);
  Module::About about;
  about.ids.reserve(rows.size());
  about.instructions.reserve(rows.size());
  for (const Row& row : rows) {
    about.ids.push_back(row.id);
    about.instructions.push_back(row.instruction);
  }
  return about;
}

void ModuleParser::note_calls(const Instruction& instruction) {
  const auto caller = static_cast<uint32_t>(module_.functions_.size() - 1);
  const bool by_matrix = instruction.opcode() != spv::Op::OpFunctionCall;
  const auto [first, second] = called_functions(instruction);
  if (first != 0) calls_.push_back({caller, first, by_matrix});
  if (second != 0) calls_.push_back({caller, second, by_matrix});
}

// Callees that are not functions of the module are left out.
void ModuleParser::build_call_graph() {
  std::vector<CallGraph::Call> calls;
  calls.reserve(calls_.size());
  for (const CallById& call : calls_) {
    const uint32_t callee = module_.function_index(call.callee_id);
    if (callee != kNone) calls.push_back({call.caller, callee, call.by_matrix});
  }
  module_.calls_ = CallGraph(static_cast<uint32_t>(module_.functions_.size()), std::move(calls));
}

Error ModuleParser::error_at(uint32_t offset, std::string_view what) const {
  return Error{fmt::format("SPIR-V word {}: {}", offset, what)};
}

}  // namespace tally::spirv
