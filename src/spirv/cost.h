// What an instruction costs, without running it: how many operations of which class, and how many
// bytes it moves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "spirv/module.h"

namespace tally::spirv {

// The order is that of the block metrics in the catalogue, after the executions.
enum class CostClass : uint8_t {
  Instruction,  // every executed instruction once
  Fma,
  Float16,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  Logic,
  Conversion,
  Special,
  BufferLoad,
  BufferLoadBytes,
  BufferStore,
  BufferStoreBytes,
  UniformLoad,
  UniformLoadBytes,
  SharedLoad,
  SharedLoadBytes,
  SharedStore,
  SharedStoreBytes,
  LocalLoad,
  LocalStore,
  Atomic,
  TextureSample,
  TextureGather,
  TextureFetch,
  ImageLoad,
  ImageStore,
  ImageQuery,
  VaryingLoad,
  VaryingStore,
  Interpolation,
  Emit,
  ControlFlow,
  Barrier,
  Subgroup,
  Ray,
  Matrix,
  Move,
  Address,
  Other,
};
inline constexpr size_t kCostClassCount = static_cast<size_t>(CostClass::Other) + 1;

// How much of each class some piece of code costs each time it runs. Sums saturate.
class InstructionMix {
 public:
  uint64_t operator[](CostClass cost) const { return counts_[static_cast<size_t>(cost)]; }
  void add(CostClass cost, uint64_t count = 1);
  InstructionMix& operator+=(const InstructionMix& other);
  bool operator==(const InstructionMix&) const = default;

 private:
  std::array<uint64_t, kCostClassCount> counts_{};
};

// The cost of one instruction; all zero for what is not executed (labels, merges, declarations,
// debug information).
InstructionMix cost_of(const Module& module, const Instruction& instruction);

}  // namespace tally::spirv
