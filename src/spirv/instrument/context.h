// The state that the parts of the block-count pass share while they instrument one entry point.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <vector>

#include "spirv/ir/editor.h"
#include "spirv/plan/cfg_segments.h"
#include "spirv/plan/options.h"

namespace tally::spirv {

// Traits of each shader stage that the pass needs. Names and numbers are in catalogue/catalogue.h;
// a new stage needs a row in both tables.

// A term of the sum that selects an invocation's shard: (component >> shift) * factor, of a float
// up to a constant. Subgroups of different workgroups that end at the same time should differ in
// it. The lanes of one subgroup may differ as well.
struct ShardTerm {
  spv::BuiltIn builtin;
  uint8_t size;  // components of the built-in, 1 for a scalar
  uint8_t component;
  uint8_t shift;
  uint8_t factor;
};

struct StageTraits {
  spv::ExecutionModel model;
  bool has_helpers;
  // True if all active lanes of a subgroup are invocations or helpers. In the geometry stages,
  // drivers fill subgroups with further lanes whose writes have no effect but that take part in
  // ballots: SwiftShader's ballot has four lanes for the three vertices of a triangle.
  bool lanes_are_invocations;
  std::span<const ShardTerm> shard_terms;
  // True if calls of other shaders may regroup the invocations of a subgroup.
  bool repacks = false;
  // True if a flush adds zeros too. Most counts of a workgroup that shapes a mesh are not zero, so
  // that to test each costs more than it saves.
  bool adds_zeros = false;
};

// The catalogue's name of a stage, "unknown" if it has none.
const char* stage_name(spv::ExecutionModel model);

// Null for an unknown stage.
const StageTraits* find_stage(spv::ExecutionModel model);

template <typename Enum>
constexpr uint32_t word(Enum value) {
  return static_cast<uint32_t>(value);
}

// Where the code that writes an invocation's counts is: before each of `exits`, and if `wraps` also
// after the application's entry point, in place of its returns.
struct ExitPlaces {
  std::vector<Exit> exits;
  bool wraps = false;
  bool in_loop = false;    // the only one is in a loop: lanes may leave in different iterations
  std::vector<Exit> late;  // demotions that wait until then (counting.h)

  // True if all invocations end at one place.
  bool only_one() const {
    return wraps ? exits.empty() : exits.size() == 1 && exits[0].kind == Exit::Kind::End;
  }
};

struct PassContext {
  const AnalyzedModule& analyzed;
  Editor& editor;
  const EntryPoint& entry;
  const BlockCountOptions& options;
  const StageTraits& stage;
  const SegmentGraph& graph;
  bool use_subgroups;        // the module may use subgroup operations
  bool use_int64;            // ... and 64-bit atomics
  bool vulkan_memory_model;  // of the module
  bool demotes;              // an invocation may be demoted before it writes its counts
  ExitPlaces places;

  // True if subgroup operations may add up 64-bit numbers.
  bool sums_wide() const { return use_subgroups && use_int64 && options.wide_subgroups; }
  // True if the code that writes the counts stands where invocations end, not in a function.
  bool flushes_in_place() const { return options.driver.prefers_small_code && places.only_one(); }
  // ... and that is the return of the application's entry point.
  bool flushes_in_entry_point() const {
    return flushes_in_place() && !places.wraps && is_return(module(), places.exits[0]);
  }

  const Module& module() const { return editor.module(); }
  // Adds a function before those of the application. After them, an OpLine of the application could
  // still be in effect.
  void add_function(const InstructionBuilder& code) {
    editor.insert_before(section_ends(module())[static_cast<size_t>(Section::Global)], code);
  }
};

// Arithmetic on 32-bit integers and booleans, for classes that emit much of it.
class WordCode {
 protected:
  explicit WordCode(Editor& editor)
      : editor_(editor), boolean_(editor.type_bool()), u32_(editor.type_int(32)) {}

  uint32_t constant(uint32_t value) const { return editor_.constant_u32(value); }
  uint32_t binary(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const {
    return code.emit(op, u32_, {a, b});
  }
  uint32_t compare(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const {
    return code.emit(op, boolean_, {a, b});
  }
  uint32_t both(InstructionBuilder& code, uint32_t a, uint32_t b) const {
    return code.emit(spv::Op::OpLogicalAnd, boolean_, {a, b});
  }
  uint32_t select(InstructionBuilder& code, uint32_t condition, uint32_t yes, uint32_t no) const {
    return code.emit(spv::Op::OpSelect, u32_, {condition, yes, no});
  }

  Editor& editor_;
  uint32_t boolean_, u32_;
};

// Access to memory by 64-bit addresses, for all counting code.

class PhysicalMemory {
 public:
  explicit PhysicalMemory(PassContext& context);

  // Operands of atomics. The scope contains all invocations that count. Device scope would need a
  // further feature under the Vulkan memory model.
  uint32_t scope() const { return scope_; }
  uint32_t relaxed() const { return relaxed_; }
  // *pointer += value, for integers of `type`. Returns the old value.
  uint32_t add(InstructionBuilder& code, uint32_t type, uint32_t pointer, uint32_t value) const;
  // uvec2 address + uint bytes
  uint32_t advance(InstructionBuilder& code, uint32_t address, uint32_t bytes) const;

 private:
  uint32_t advance_64(InstructionBuilder& code, uint32_t address, uint32_t bytes) const;

  Editor& editor_;
  uint32_t scope_;
  bool use_int64_;
  uint32_t relaxed_;
};

// Reads built-in inputs in instrumented code. Uses the entry point's variable if there is one,
// since a second variable with the same built-in is not allowed; otherwise adds one.

// A variable of the entry point that is a built-in or a block with a built-in member.
struct BuiltinVariable {
  spv::BuiltIn builtin;
  uint32_t variable;
  uint32_t type;                   // of the built-in
  std::optional<uint32_t> member;  // of the block that the variable is
};
std::optional<BuiltinVariable> find_builtin(const Module& module, const EntryPoint& entry,
                                            spv::StorageClass storage, spv::BuiltIn builtin);

class Builtins {
 public:
  explicit Builtins(PassContext& context) : context_(context) {}

  static bool is_float(spv::BuiltIn builtin);
  // A component of an integer or float built-in of `size` components, as a 32-bit unsigned integer.
  uint32_t number(InstructionBuilder& code, spv::BuiltIn builtin, uint32_t size,
                  uint32_t component);
  // (component >> shift) of a float up to a constant, with rounding. The float must be below 2^23.
  uint32_t shifted(InstructionBuilder& code, const ShardTerm& term);
  // SubgroupLocalInvocationId. Needs the capability GroupNonUniform.
  uint32_t lane(InstructionBuilder& code) {
    return number(code, spv::BuiltIn::SubgroupLocalInvocationId, 1, 0);
  }
  // SubgroupLtMask: four words. Needs the capability GroupNonUniformBallot.
  uint32_t lanes_below(InstructionBuilder& code);
  // HelperInvocation.
  uint32_t is_helper(InstructionBuilder& code);
  // The first word of SampleMask, as a 32-bit unsigned integer.
  uint32_t sample_mask(InstructionBuilder& code);

  // An error if the module declares one of the built-ins read with an invalid type.
  const Status& status() const { return status_; }

 private:
  using Input = BuiltinVariable;

  const Input& input(spv::BuiltIn builtin, uint32_t size);
  Input create(spv::BuiltIn builtin, uint32_t size);
  uint32_t load(InstructionBuilder& code, const Input& input);
  // A component, with the built-in's own type.
  uint32_t load_component(InstructionBuilder& code, const Input& input, uint32_t size,
                          uint32_t component, uint32_t* type);
  // True if `type` is valid for a built-in of `size` components.
  bool fits(spv::BuiltIn builtin, uint32_t size, uint32_t type) const;

  PassContext& context_;
  std::vector<Input> inputs_;
  Status status_;
};

// Which invocations count: all but helpers, including invocations that were demoted to helpers.
//
// After a demotion, HelperInvocation is undefined unless it is read as Volatile, which not all
// drivers accept. A copy made at the start is wrong in some shaders on NVIDIA 580. Modules that
// demote therefore use OpIsHelperInvocationEXT.
class HelperMask {
 public:
  HelperMask(PassContext& context, Builtins& builtins) : context_(context), builtins_(builtins) {}

  // A boolean; 0 if all invocations of the stage count.
  uint32_t is_live(InstructionBuilder& code) const;

 private:
  PassContext& context_;
  Builtins& builtins_;
};

}  // namespace tally::spirv
