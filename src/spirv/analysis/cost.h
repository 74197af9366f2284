// The static cost of an instruction: the number of operations of each class, and the bytes it
// moves. A class is a counter of the catalogue, which defines what it counts.
//
// - Arithmetic counts components: an addition of two vec3 is three operations. Comparisons have the
//   class of their operands.
// - Products of vectors and matrices count multiply-adds: mat4 * vec4 is 16.
// - Functions of GLSL.std.450 that are short sequences of other operations count as those.
// - Memory accesses, texture operations and the like count instructions and bytes; inputs, outputs
// and
//   local variables count components.
// - Specialization constants have their default values: the costs in a pipeline are those of the
//   module that it specializes (Module::specialized).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "catalogue/counter.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

// In the order of the block counters in the catalogue, after Executions.
enum class CostClass : uint8_t {
  Instruction,
  Fma,
  Float16,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  Division,
  Logic,
  Conversion,
  SpecialFunction,
  Derivative,
  Move,
  Address,
  LocalLoad,
  LocalStore,
  BufferLoad,
  BufferBytesLoaded,
  BufferStore,
  BufferBytesStored,
  UniformLoad,
  UniformBytesLoaded,
  SharedLoad,
  SharedBytesLoaded,
  SharedStore,
  SharedBytesStored,
  Atomic,
  TextureSample,
  TextureGather,
  TextureFetch,
  ImageLoad,
  ImageStore,
  ResourceQuery,
  VaryingLoad,
  VaryingStore,
  Interpolation,
  Emit,
  ControlFlow,
  Barrier,
  Subgroup,
  RayTraversal,
  RayAccess,
  MatrixMultiplyAdd,
  Matrix,
  Other,
};
inline constexpr size_t kCostClassCount = static_cast<size_t>(CostClass::Other) + 1;

catalogue::Number counter_of(CostClass cost);
// The class that a counter of the catalogue counts, if it counts one.
std::optional<CostClass> cost_class_of(catalogue::Number number);

// The cost of one execution of some code, by class. Sums saturate at 2^32 - 1.
class InstructionMix {
 public:
  uint64_t operator[](CostClass cost) const { return counts_[static_cast<size_t>(cost)]; }
  void add(CostClass cost, uint64_t count = 1) {
    uint32_t& sum = counts_[static_cast<size_t>(cost)];
    sum = count > kMax - sum ? kMax : sum + static_cast<uint32_t>(count);
  }
  InstructionMix& operator+=(const InstructionMix& other);
  bool operator==(const InstructionMix&) const = default;

 private:
  static constexpr uint32_t kMax = 0xffffffff;
  std::array<uint32_t, kCostClassCount> counts_{};
};

// The part of an instruction that compilers leave (redundancy.h).
enum class Residue : uint8_t {
  All,
  Multiplication,  // of a division by a constant
  MultiplyAdd,     // of a sum that takes in a product, which leaves nothing
  Nothing,
};

// True if an instruction is executed. Declarations, labels, merges and debug information are not.
bool is_executed(const Module& module, const Instruction& instruction);

// The costs of the instructions of a module, which must outlive it.
class CostModel {
 public:
  explicit CostModel(const Module& module);

  // Adds the cost of an instruction; 0 if it is not executed.
  void add(const Instruction& instruction, InstructionMix& mix) const;
  InstructionMix cost_of(const Instruction& instruction) const {
    InstructionMix mix;
    add(instruction, mix);
    return mix;
  }

  // Adds the cost of what is left of an instruction.
  void add_compiled(const Instruction& instruction, Residue residue, InstructionMix& mix) const;

  // True if the cost of an instruction may depend on a specialization constant: of any, because of
  // the size of a type, or of this one.
  bool types_depend_on_specialization() const { return types_.depends_on_specialization(); }
  bool depends_on_specialization(const Instruction& instruction) const;

 private:
  const TypeShape& value_shape(const Instruction& instruction) const;
  void add_arithmetic(const TypeShape& shape, uint64_t count, InstructionMix& mix) const;
  void add_by_component(const Instruction& instruction, CostClass cost, InstructionMix& mix) const;
  void add_product(const Instruction& instruction, InstructionMix& mix) const;
  void add_integer_dot(const Instruction& instruction, InstructionMix& mix) const;
  void add_matrix(const Instruction& instruction, InstructionMix& mix) const;
  void add_copy(const Instruction& instruction, InstructionMix& mix) const;
  void add_ext_inst(const Instruction& instruction, InstructionMix& mix) const;
  void add_glsl(const Instruction& instruction, InstructionMix& mix) const;

  // The kind of memory that a pointer points to.
  enum class Memory : uint8_t {
    None,
    Local,
    Buffer,
    Uniform,
    Shared,
    Varying,
    Descriptor,
    Ray,
    Tile
  };
  Memory memory_of(uint32_t pointer) const;
  bool is_buffer_block(uint32_t pointer) const;
  void add_load(Memory memory, const TypeShape& shape, InstructionMix& mix) const;
  void add_store(Memory memory, const TypeShape& shape, InstructionMix& mix) const;

  const Module* module_;
  TypeTable types_;
  // Structs decorated BufferBlock, which are storage buffers before SPIR-V 1.3, and arrays of them.
  std::unordered_set<uint32_t> buffer_blocks_;
};

}  // namespace tally::spirv
