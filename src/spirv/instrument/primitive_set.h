// The distinct primitives of a region: a set in GPU memory (probe/region.h) into which invocations
// insert the draw and PrimitiveId of their primitive. It is a hash table of 64-bit keys with linear
// probing (Knuth, The Art of Computer Programming 3, 6.4, algorithm L) and insertion by compare and
// exchange. Exact up to the table's limit under any concurrency.
#pragma once

#include <cstdint>

#include "spirv/instrument/builtins.h"
#include "spirv/instrument/context.h"
#include "spirv/instrument/physical_memory.h"

namespace tally::spirv {

class PrimitiveSet {
 public:
  PrimitiveSet(PassContext& context, Builtins& builtins);

  // Ids of 32-bit integers; the address has two.
  struct Place {
    uint32_t tables = 0;      // device address
    uint32_t slots_log2 = 0;  // of a region's table
    uint32_t limit = 0;       // maximum number of primitives, at most half of the slots
    uint32_t region = 0;
    uint32_t draw = 0;     // index of the draw, from 1
    uint32_t counter = 0;  // pointer to the region's accumulator
  };
  // For lanes that are not helpers.
  void insert(InstructionBuilder& code, const Place& place);

 private:
  uint32_t primitive(InstructionBuilder& code);
  uint32_t first_slot(InstructionBuilder& code, uint32_t primitive, uint32_t draw);
  uint32_t try_slot(InstructionBuilder& code, const Place& place, uint32_t slot, uint32_t key);
  uint32_t claim(InstructionBuilder& code, const Place& place, uint32_t slot, uint32_t key);
  uint32_t constant(uint32_t value) const { return editor_.constant_u32(value); }
  uint32_t binary(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const;
  uint32_t compare(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const;

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  uint32_t boolean_, u32_, u64_;
  PhysicalMemory memory_;
  uint32_t scope_, relaxed_;
  uint32_t slots_type_;    // pointer to an array of 64-bit slots
  uint32_t slot_pointer_;  // pointer to one
};

}  // namespace tally::spirv
