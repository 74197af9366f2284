// Collects edits to a module. Each edit belongs to a section of the logical layout or to an
// instruction of the original; write() merges them into new words. Everything else is copied
// unchanged, so without edits the words are identical.
//
// - Existing types, constants and imports are reused, as the specification requires.
// - Edits at the same place keep their order.
// - Instruction indices are those of the original module, which must outlive the editor.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "spirv/ir/instruction_builder.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

// The types and constants of a module and of its edits, by content: each is declared once.

class Declarations {
 public:
  // Without structs, arrays and anything decorated: equal content does not make these equal.
  explicit Declarations(const Module& module);

  // The id of the declaration, or 0. `type` is 0 for types.
  uint32_t find(spv::Op opcode, uint32_t type, std::span<const uint32_t> operands) const;
  void add(uint32_t id, spv::Op opcode, uint32_t type, std::span<const uint32_t> operands);

 private:
  struct Entry {
    uint32_t id;
    uint32_t first_word, word_count;  // of key_words_
  };

  std::vector<uint32_t> key_words_;
  std::unordered_multimap<uint64_t, Entry> entries_;
};

class Editor {
 public:
  explicit Editor(const Module& module);

  const Module& module() const { return *module_; }
  uint32_t new_id() { return ids_.take(); }
  InstructionBuilder new_code() { return InstructionBuilder(ids_); }

  // --- the module as a whole
  // Raises the version if it is lower. From 1.4 on, an entry point lists every variable that it
  // uses; write() completes the lists if the version passes 1.4.
  void raise_version(uint32_t version);
  void add_capability(spv::Capability capability);
  // Adds an extension unless the version is at least `core_since`, which made it part of the core
  // (0: never).
  void add_extension(std::string_view name, uint32_t core_since = 0);
  uint32_t import_glsl();  // GLSL.std.450
  // With PhysicalStorageBuffer64 as the addressing model.
  void set_memory_model(spv::MemoryModel memory);

  // --- entry points
  // Adds a global variable to the interface. Below version 1.4, variables other than inputs and
  // outputs are ignored.
  void add_to_interface(const EntryPoint& entry, uint32_t variable);
  // A private variable of the type, in the interface of the entry point. `initial`: a constant.
  uint32_t new_private_variable(const EntryPoint& entry, uint32_t type, uint32_t initial);
  void add_execution_mode(uint32_t function, spv::ExecutionMode mode);
  // Replaces the function of an entry point by a new one, to which the execution modes move.
  void move_entry_point(const EntryPoint& entry, uint32_t function);
  // Removes all other entry points and their execution modes, but not their functions.
  void keep_only(const EntryPoint& entry);
  // Removes the names that the module has, but not those that were added.
  void remove_names();

  // --- names and decorations
  void name(uint32_t id, std::string_view text);
  void decorate(uint32_t id, spv::Decoration decoration,
                std::initializer_list<uint32_t> operands = {});
  void decorate_member(uint32_t id, uint32_t member, spv::Decoration decoration,
                       std::initializer_list<uint32_t> operands = {});

  // --- types: existing ones are reused
  uint32_t type_void();
  uint32_t type_bool();
  uint32_t type_int(uint32_t width);  // unsigned
  uint32_t type_float(uint32_t width);
  uint32_t type_vector(uint32_t component, uint32_t count);
  uint32_t type_pointer(spv::StorageClass storage, uint32_t pointee);
  uint32_t type_function(uint32_t result, std::initializer_list<uint32_t> parameters = {});
  // --- types that are always new, because they get decorations
  uint32_t new_struct(std::initializer_list<uint32_t> members);
  uint32_t new_struct(std::span<const uint32_t> members);
  uint32_t new_array(uint32_t element, uint32_t length);
  uint32_t new_runtime_array(uint32_t element);

  // --- constants: existing ones are reused
  uint32_t constant(uint32_t type, std::span<const uint32_t> words);
  uint32_t constant_u32(uint32_t value);
  uint32_t constant_u64(uint64_t value);
  uint32_t constant_bool(bool value);
  // A new specialization constant with a SpecId that the module does not use.
  struct SpecConstant {
    uint32_t id;
    uint32_t spec_id;
  };
  SpecConstant new_spec_constant_u32(uint32_t value);

  // --- variables
  uint32_t new_global_variable(uint32_t pointer_type, spv::StorageClass storage,
                               uint32_t initializer = 0);

  // --- code
  void insert_before(uint32_t instruction, const InstructionBuilder& code);
  void insert_after(uint32_t instruction, const InstructionBuilder& code) {
    insert_before(instruction + 1, code);
  }
  void remove(uint32_t instruction);
  void replace(uint32_t instruction, const InstructionBuilder& code);
  // Replaces one word of an instruction of the original, e.g. a parent in an OpPhi.
  void replace_word(uint32_t instruction, uint32_t word, uint32_t value);

  // The words of the edited module. Fails if an instruction would exceed the limits of SPIR-V.
  Result<std::vector<uint32_t>> write() const;

 private:
  // Words of the arena to insert before an instruction of the original, or to replace it.
  struct Change {
    uint32_t instruction;
    uint32_t first_word, word_count;
    bool replaces;
  };
  struct WordEdit {
    uint32_t offset, value;
  };
  struct Listing {
    uint32_t entry_instruction;
    uint32_t variable;
  };

  struct NewEntryPoint {
    uint32_t instruction;
    std::vector<uint32_t> words;
  };

  // Finds a declaration or adds it.
  uint32_t declare(spv::Op opcode, uint32_t type, std::span<const uint32_t> operands);
  uint32_t declare_new(spv::Op opcode, uint32_t type, std::span<const uint32_t> operands);
  std::vector<uint32_t>& section(Section which) { return sections_[static_cast<size_t>(which)]; }
  std::optional<spv::StorageClass> storage_class(uint32_t variable) const;
  std::vector<uint32_t> unlisted_variables(const EntryPoint& entry) const;
  Result<std::vector<NewEntryPoint>> entry_points(std::span<const uint32_t> patched) const;
  std::vector<Change> changes(std::span<const NewEntryPoint> entry_points,
                              std::vector<uint32_t>& arena) const;
  std::vector<uint32_t> patched_original() const;
  Status check_bound(size_t words) const;

  const Module* module_;
  IdAllocator ids_;
  uint32_t version_;
  SectionEnds ends_;
  Declarations declarations_;
  std::array<std::vector<uint32_t>, kSectionCount> sections_;
  std::vector<spv::Capability> added_capabilities_;
  std::vector<std::string> added_extensions_;
  uint32_t added_glsl_ = 0;
  std::unordered_map<uint32_t, spv::StorageClass> added_variables_;
  std::vector<Listing> listings_;
  uint32_t next_spec_id_;

  std::vector<uint32_t> arena_;
  std::vector<Change> changes_;
  std::unordered_set<uint32_t> removed_;
  std::vector<WordEdit> word_edits_;
};

// The global variables that a function or its callees refer to, ascending by id.
std::vector<uint32_t> referenced_variables(const Module& module, uint32_t function_id);

// Copies of a module with other names in it.

// The words of the module with another name of the entry point.
std::vector<uint32_t> with_entry_point_name(const Module& module, const EntryPoint& entry,
                                            std::string_view name);

// The words of the module in which every string `name` is `new_name`: debug information names files
// by strings.
std::vector<uint32_t> with_string(const Module& module, std::string_view name,
                                  std::string_view new_name);

}  // namespace tally::spirv
