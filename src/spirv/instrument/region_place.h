// Finds the accumulators of a fragment from the block of the render pass and the fragment's
// position (probe/region.h).
#pragma once

#include <functional>

#include "probe/region.h"
#include "spirv/instrument/builtins.h"
#include "spirv/instrument/context.h"
#include "spirv/instrument/physical_memory.h"

namespace tally::spirv {

class RegionPlace {
 public:
  static constexpr uint32_t kNowhere = ~0u;

  RegionPlace(PassContext& context, Builtins& builtins);

  // The pointer type of a block: to an array of 32-bit words.
  uint32_t block_type() const { return block_type_; }
  uint32_t load(InstructionBuilder& code, uint32_t block, probe::RegionWord index) const;
  // The word, which must have an even index, and the one after it, in one load of 64 bits.
  struct Pair {
    uint32_t first, second;
  };
  Pair load_pair(InstructionBuilder& code, uint32_t block, probe::RegionWord index);
  // Index of the fragment's region, layers included; kNowhere outside of the render area.
  // `load` emits the code for a word of the block.
  using Load = std::function<uint32_t(probe::RegionWord)>;
  uint32_t find(InstructionBuilder& code, const Load& load);
  // The address of the accumulators of region 0.
  uint32_t accumulators(InstructionBuilder& code, uint32_t block) const;
  // ... of another region.
  uint32_t advance(InstructionBuilder& code, uint32_t accumulators, uint32_t region) const;
  // A pointer to one of the accumulators at `address`.
  uint32_t accumulator(InstructionBuilder& code, uint32_t address, uint32_t index) const;
  void add(InstructionBuilder& code, uint32_t address, uint32_t index, uint32_t value) const;
  // `index` is an id.
  void add_to_chosen(InstructionBuilder& code, uint32_t address, uint32_t index,
                     uint32_t value) const;

 private:
  uint32_t make_block_type(uint32_t word_type, uint32_t word_bytes);
  Pair split(InstructionBuilder& code, uint32_t pair) const;
  uint32_t layer(InstructionBuilder& code, const Load& load);
  uint32_t constant(uint32_t value) const { return editor_.constant_u32(value); }
  uint32_t binary(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const;
  uint32_t compare(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const;
  uint32_t both(InstructionBuilder& code, uint32_t a, uint32_t b) const;

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  PhysicalMemory memory_;
  uint32_t boolean_, u32_, block_type_;
  uint32_t pairs_type_ = 0;  // a pointer to the block as 64-bit words; 0 until needed
};

}  // namespace tally::spirv
