// A parsed SPIR-V module: its words, the position of each instruction, the definitions, and the
// call graph. It is immutable; an Editor writes a new module. The words are exactly those that were
// parsed, including unknown opcodes and enumerants.
//
// parse() guarantees that each instruction lies within the words and has the minimum length of its
// opcode, that every result id is below bound() and defined once, that no operand that is an id is
// bound() or higher (ids of memory operands and of unknown instructions aside), and that functions
// are closed, not nested, and consist of blocks from OpLabel to a terminator. It also guarantees
// that no id depends on itself by types and operands, other than through an OpPhi, a function, or a
// pointer that OpTypeForwardPointer declares. It does not validate anything else. Memory is at most
// a small multiple of the words.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/specialization.h"
#include "base/status.h"
#include "spirv/ir/opcode.h"

namespace tally::spirv {

// A view of one instruction in the words of a module, valid as long as the words. Words beyond its
// end read as 0, so that short instructions of a hostile module are harmless.

inline constexpr uint32_t kNone = ~0u;  // no index, no id

class Instruction {
 public:
  Instruction() = default;
  // `words` is exactly the instruction, its first word included and at least one; `offset` its
  // place in the module.
  Instruction(std::span<const uint32_t> words, uint32_t offset);

  spv::Op opcode() const { return static_cast<spv::Op>(words_[0] & spv::OpCodeMask); }
  std::span<const uint32_t> words() const { return words_; }
  size_t word_count() const { return words_.size(); }
  uint32_t offset() const { return offset_; }
  uint32_t type_id() const { return has_type_ ? word(1) : 0; }
  uint32_t result_id() const { return has_result_ ? word(has_type_ ? 2 : 1) : 0; }

  uint32_t word(size_t index) const { return index < words_.size() ? words_[index] : 0; }

  // The words after type and result ids, operand 0 first.
  std::span<const uint32_t> operands() const;
  uint32_t operand(size_t index) const { return word(first_operand() + index); }
  size_t operand_count() const { return operands().size(); }

  // The literal string that begins at operand `index`, cut after `limit` bytes. A string without
  // terminator ends with the instruction.
  std::string string(size_t index, size_t limit = ~size_t{0}) const;
  // The index of the operand after that string.
  size_t after_string(size_t index) const;

 private:
  size_t first_operand() const { return 1u + has_type_ + has_result_; }

  std::span<const uint32_t> words_;
  uint32_t offset_ = 0;
  bool has_type_ = false;
  bool has_result_ = false;
};

// Calls visit(operand, is_id) for each operand. OpcodeLayout does not tell of two: a phi has ids
// alone, and a texture operation has ids behind the mask of its image operands.
template <typename Visit>
void for_each_operand(const Instruction& instruction, Visit&& visit) {
  const OpcodeLayout layout = opcode_layout(instruction.opcode());
  const bool is_phi = instruction.opcode() == spv::Op::OpPhi;
  const bool has_mask = layout.cost == CostRule::TextureSample ||
                        layout.cost == CostRule::TextureGather ||
                        layout.cost == CostRule::TextureFetch || layout.cost == CostRule::ImageLoad;
  bool behind_mask = false;
  for (size_t n = 0; n < instruction.operand_count(); ++n) {
    const bool is_id = layout.is_id(n) || is_phi || behind_mask;
    visit(instruction.operand(n), is_id);
    behind_mask = behind_mask || (has_mask && !is_id);
  }
}

// The call graph of a module. Functions are indices into Module::functions().

// The ids of the functions that an instruction calls; 0 for none.
struct CalledFunctions {
  uint32_t first = 0, second = 0;
};
CalledFunctions called_functions(const Instruction& instruction);

class CallGraph {
 public:
  struct Call {
    uint32_t caller, callee;
    bool by_matrix = false;  // by a cooperative matrix instruction
  };

  CallGraph() = default;
  CallGraph(uint32_t function_count, std::vector<Call> calls);

  // Each once, ascending.
  std::span<const uint32_t> callees(uint32_t function) const;
  // True if a cooperative matrix instruction calls the function or one of its callers. Such a
  // function runs at least once for each element; the implementation chooses how often and in which
  // invocation (SPV_NV_cooperative_matrix2).
  bool is_called_by_matrices(uint32_t function) const { return called_by_matrices_[function]; }
  // The function and all that it may call, ascending, which is module order. Empty for kNone.
  std::vector<uint32_t> reachable_from(uint32_t function) const;
  // The same functions, each after its callees. In a recursion, after some of its callees.
  std::vector<uint32_t> callees_first(uint32_t function) const;

 private:
  size_t function_count() const { return first_.empty() ? 0 : first_.size() - 1; }
  std::vector<bool> flood(std::vector<uint32_t> open) const;

  std::vector<uint32_t> first_;  // by function, and the end: index into callees_
  std::vector<uint32_t> callees_;
  std::vector<bool> called_by_matrices_;
};

inline constexpr uint32_t kHeaderWords = 5;
// The universal limit of a module's bound. A module with more words than that may exceed it.
inline constexpr uint32_t kBoundLimit = 0x3fffff;

constexpr uint32_t make_version(uint32_t major, uint32_t minor) { return major << 16 | minor << 8; }

// The extended instruction sets that other code distinguishes.
enum class ExtInstSet : uint8_t {
  None,  // no import
  Other,
  Glsl450,
  AmdShaderBallot,
  AmdTrinaryMinMax,
  AmdExplicitVertexParameter,
  OpenClDebugInfo100,
  ShaderDebugInfo100,  // NonSemantic.Shader.DebugInfo, .100 and later
  NonSemantic,         // any other of that prefix
};

// True if its instructions have no effect on what is computed.
constexpr bool is_debug_information(ExtInstSet set) {
  return set == ExtInstSet::OpenClDebugInfo100 || set == ExtInstSet::ShaderDebugInfo100 ||
         set == ExtInstSet::NonSemantic;
}

struct EntryPoint {
  spv::ExecutionModel model;
  uint32_t function_id;
  std::string name;
  std::vector<uint32_t> interface;  // ids of its variables
  uint32_t instruction;             // index of its OpEntryPoint
};

// Instructions [begin, end): OpFunction to OpFunctionEnd, both included. Blocks are
// in Module::blocks().
struct Function {
  uint32_t id;
  uint32_t begin, end;
  uint32_t first_block, block_count;
};

// Instructions [begin, end): OpLabel to terminator, both included.
struct BlockRange {
  uint32_t label_id;
  uint32_t begin, end;
};

class Module {
 public:
  static Result<Module> parse(std::span<const uint32_t> words);

  std::span<const uint32_t> words() const { return words_; }
  uint32_t version() const { return words_[1]; }  // as make_version() makes it
  uint32_t bound() const { return words_[3]; }

  size_t instruction_count() const { return offsets_.size() - 1; }
  // The index of the first function's OpFunction; of one past the last instruction without
  // functions.
  size_t declarations_end() const {
    return functions_.empty() ? instruction_count() : functions_.front().begin;
  }
  Instruction instruction(size_t index) const;
  // First word of an instruction; of one past the last, the end of the module.
  uint32_t word_offset(size_t index) const { return offsets_[index]; }

  // Index of the instruction that defines an id, or kNone. Any number is allowed.
  uint32_t definition_index(uint32_t id) const {
    if (id < definitions_.size()) return definitions_[id];
    const auto found = far_definitions_.find(id);
    return found == far_definitions_.end() ? kNone : found->second;
  }
  std::optional<Instruction> definition(uint32_t id) const;
  // The opcode that defines an id, OpNop if none does.
  spv::Op opcode_of(uint32_t id) const;
  // The type id of the instruction that defines an id, 0 if it has none.
  uint32_t type_of(uint32_t id) const;

  std::span<const EntryPoint> entry_points() const { return entry_points_; }
  const EntryPoint* find_entry_point(spv::ExecutionModel model, std::string_view name) const;
  // Indices of the OpExecutionMode and OpExecutionModeId instructions of an entry point's function,
  // in module order.
  std::span<const uint32_t> execution_modes(const EntryPoint& entry) const {
    return execution_modes_.of(entry.function_id);
  }
  // Those of all functions, ordered by function.
  std::span<const uint32_t> execution_modes() const { return execution_modes_.instructions; }

  // True if an id is a variable declared outside of functions.
  bool is_global_variable(uint32_t id) const;

  // In module order.
  std::span<const Function> functions() const { return functions_; }
  std::span<const BlockRange> blocks() const { return blocks_; }
  std::span<const BlockRange> blocks_of(const Function& function) const {
    return blocks().subspan(function.first_block, function.block_count);
  }
  // Index into functions(), or kNone.
  uint32_t function_index(uint32_t function_id) const;
  const CallGraph& calls() const { return calls_; }
  // Indices of the function and of all that it may call, ascending. Empty for other ids.
  std::vector<uint32_t> reachable_functions(uint32_t function_id) const {
    return calls_.reachable_from(function_index(function_id));
  }

  // OpName's text, empty if the id has none.
  std::string name_of(uint32_t id) const;
  // Indices of the OpDecorate, OpMemberDecorate, OpDecorateId and OpDecorateString instructions
  // whose target is `id`, in module order; not what a decoration group says (parse_without_groups).
  std::span<const uint32_t> decorations_of(uint32_t id) const { return decorations_.of(id); }
  // Those of all ids, ordered by target.
  std::span<const uint32_t> decorations() const { return decorations_.instructions; }
  // True if the module has decoration groups.
  bool decorates_in_groups() const;
  // The first operand of a decoration of `id` (0 if it has none), if `id` has the decoration.
  std::optional<uint32_t> decoration(uint32_t id, spv::Decoration decoration) const;
  std::optional<uint32_t> member_decoration(uint32_t struct_id, uint32_t member,
                                            spv::Decoration decoration) const;

  // True if a specialization constant has this SpecId.
  bool has_spec_id(uint32_t spec_id) const;

  bool has_capability(spv::Capability capability) const;
  bool has_extension(std::string_view name) const;
  // The id of an imported instruction set, 0 if it is not imported.
  uint32_t ext_inst_import(std::string_view name) const;
  // Which set an id imports.
  ExtInstSet ext_inst_set(uint32_t import_id) const;

  // The value of an integer constant of at most 64 bits, zero-extended. Specialization constants
  // have their default values, and what is computed of them follows. Empty for other ids.
  std::optional<uint64_t> constant_value(uint32_t id) const;
  // The value of an integer, zero-extended, or of a boolean, if no pipeline and no invocation can
  // have another one.
  std::optional<uint64_t> fixed_value(uint32_t id) const;
  // True if the value of a constant, or of a part of it, may be specialized.
  bool is_specialization_constant(uint32_t id) const;

  // The constants that have a SpecId, in module order.
  struct DeclaredConstant {
    uint32_t instruction;  // index
    uint32_t spec_id;
  };
  std::vector<DeclaredConstant> declared_constants() const;
  // Those that the module declares: others have no effect.
  Specialization declared(const Specialization& constants) const;
  // The module whose default values are these constants. Ids and instructions stay where they are.
  Module specialized(const Specialization& constants) const;
  // The same for pipelines that all specialize it so: what follows from the constants is fixed, and
  // a branch on it has one target.
  Module fixed(const Specialization& constants) const;
  bool is_fixed() const { return is_fixed_; }

 private:
  friend class ModuleParser;
  void set_defaults(const Specialization& constants);
  void set_default(uint32_t index, uint64_t bits);
  void fold_constants();
  // Indices of instructions about ids.
  struct About {
    std::vector<uint32_t> ids;  // sorted
    std::vector<uint32_t>
        instructions;  // the instructions themselves; those of one id are in module order
    std::span<const uint32_t> of(uint32_t id) const;
  };

  std::vector<uint32_t> words_;
  std::vector<uint32_t> offsets_;      // of each instruction, and the end
  std::vector<uint32_t> definitions_;  // by id, of those below a small multiple of the words
  std::unordered_map<uint32_t, uint32_t> far_definitions_;  // of higher ids
  std::vector<EntryPoint> entry_points_;
  std::vector<Function> functions_;
  std::vector<BlockRange> blocks_;
  CallGraph calls_;
  About names_, decorations_, execution_modes_;
  std::vector<uint32_t> capabilities_;
  std::vector<uint32_t> extensions_;      // instruction indices
  std::vector<uint32_t> specialization_;  // instruction indices of OpSpecConstant*
  // Values of each OpSpecConstantOp, and of every result if the module is fixed; the key is the id.
  std::unordered_map<uint32_t, uint64_t> folded_;
  bool is_fixed_ = false;
  struct Import {
    uint32_t id;
    uint32_t instruction;
    ExtInstSet set;
  };
  std::vector<Import> imports_;
};

// Words of a literal of an OpSwitch with this selector: 2 for 64-bit integers.
uint32_t selector_words(const Module& module, uint32_t selector);

// The shapes of a module's types: the number and width of components, and the bytes. One pass makes
// an entry for each instruction before the first function, so a nested type costs as much as
// its own words. Sizes saturate.

// Arithmetic on sizes that a module declares: a result beyond `max` is `max`.

template <uint64_t max>
constexpr uint64_t saturating_sum(uint64_t a, uint64_t b) {
  return std::min(a + b, max);
}

template <uint64_t max>
constexpr uint64_t saturating_product(uint64_t a, uint64_t b) {
  return b != 0 && a > max / b ? max : std::min(a * b, max);
}

struct TypeShape {
  enum class Kind : uint8_t {
    None,  // not a type, or a type without values to count: void, images, samplers ...
    Bool,
    Int,
    Float,
    Pointer,
    Composite,          // a struct, or an array of those
    CooperativeMatrix,  // one component, because many invocations share it
  };

  Kind kind = Kind::None;
  uint8_t width = 0;        // bits of a component of kind Int, Float or Pointer
  uint64_t components = 1;  // scalars in all
  uint64_t bytes = 0;       // without padding
  uint64_t rows = 1;        // of a matrix, cooperative or not; components of a vector
  uint64_t columns = 1;     // of a matrix
};

class TypeTable {
 public:
  explicit TypeTable(const Module& module);

  // The shape of a type, by its id; None for other ids.
  const TypeShape& shape(uint32_t type_id) const;
  // The shape of the type of a value, by its id.
  const TypeShape& shape_of(uint32_t id) const { return shape(module_->type_of(id)); }
  // True if a specialization constant determines the size of a type.
  bool depends_on_specialization() const { return depends_on_specialization_; }

 private:
  TypeShape make(const Instruction& type);
  TypeShape repeated(TypeShape element, uint64_t count) const;
  TypeShape composite(const Instruction& type) const;
  TypeShape cooperative_matrix(const Instruction& type);
  uint64_t constant_or_one(uint32_t id);

  const Module* module_;
  std::vector<TypeShape> shapes_;  // by instruction index
  bool depends_on_specialization_ = false;
};

// Insertion points for new instructions in the logical layout of a module.

enum class Section : uint8_t {
  Capability,
  Extension,
  Import,
  EntryPoint,
  ExecutionMode,
  Name,
  Decoration,
  Global,  // types, constants and global variables
  Function,
};
inline constexpr size_t kSectionCount = static_cast<size_t>(Section::Function) + 1;

// For each section the index of the instruction before which additions are inserted.
using SectionEnds = std::array<uint32_t, kSectionCount>;
SectionEnds section_ends(const Module& module);

// Index of the first instruction of a block before which code may be inserted: after OpLabel, OpPhi
// and OpVariable.
uint32_t first_insertion(const Module& module, const BlockRange& block);

// Expands decoration groups (OpDecorationGroup, OpGroupDecorate, OpGroupMemberDecorate), which old
// compilers emit, so that other code only has to support single decorations.

// Parses the words with the decorations of each group repeated for the ids and members that it
// decorates. Functions and ids do not change. Also fails if that would take too many words.
Result<Module> parse_without_groups(std::span<const uint32_t> words);

}  // namespace tally::spirv
