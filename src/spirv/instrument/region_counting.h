// Counting by region of the framebuffer: what VK_ARM_performance_counters_by_region counts of a
// fragment shader. Part of the block-count pass (block_count.h), with or without block counts.
//
// An invocation finds its region when it begins, and counts blocks in private variables. When it
// ends, it computes the region counters and adds them to the accumulators of its region
// (probe/region.h). Shaders that count invocations alone add them when they begin. A counter of
// instructions is the sum of block counts times block costs, so a few variables serve all counters.
// Only counters that the render pass enables cost an addition. Arithmetic is modulo 2^32.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "catalogue/catalogue.h"
#include "spirv/instrument/builtins.h"
#include "spirv/instrument/context.h"
#include "spirv/instrument/counting.h"
#include "spirv/instrument/record_writer.h"
#include "spirv/instrument/region_flush.h"

namespace tally::spirv {

// The distinct primitives of a region: a set in GPU memory (probe/region.h) into which invocations
// insert the draw and PrimitiveId of their primitive. It is a hash table of 64-bit keys with linear
// probing (Knuth, The Art of Computer Programming 3, 6.4, algorithm L) and insertion by compare and
// exchange. Exact up to the table's limit under any concurrency.

class PrimitiveSet : WordCode {
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

  PassContext& context_;
  Builtins& builtins_;
  uint32_t u64_;
  PhysicalMemory memory_;
  uint32_t scope_, relaxed_;
  uint32_t slots_type_;    // pointer to an array of 64-bit slots
  uint32_t slot_pointer_;  // pointer to one
};

class RegionCounting : WordCode {
 public:
  RegionCounting(PassContext& context, Builtins& builtins, HelperMask& helper_mask,
                 const TaggedRecordPointers& pointers);
  // Places the counters; call first.
  Status plan();

  std::span<const Counter> counters() const { return counters_; }

  // At the start of the entry point.
  void begin(InstructionBuilder& code);
  // At the start of the counter's segment.
  void count(InstructionBuilder& code, uint32_t counter);
  // Before an exit.
  void leave(InstructionBuilder& code, const Exit& exit);
  // Adds the functions that the code calls. Called once, last.
  void finish();

 private:
  // Small numbers of the invocation share a variable: whether it represents its subgroup, the
  // helper invocations that it represents then, whether it is discarded.
  enum Byte : uint32_t { kFirstLane, kHelpers, kDiscarded };

  bool only_invocations() const { return context_.options.regions->only_invocations; }
  uint32_t new_variable();
  void add_variable_value(catalogue::Number number, uint32_t variable);
  void add_byte_value(catalogue::Number number, Byte byte);

  template <typename Body>
  void add_function(uint32_t id, std::string_view name, Body&& body);
  // The block of the pass: named by the draw's header, or the region pointer's own address.
  uint32_t find_block(InstructionBuilder& code, uint32_t tags, uint32_t address, uint32_t header);
  void note_beginning(InstructionBuilder& code, uint32_t header, uint32_t block);
  uint32_t find_region(InstructionBuilder& code, uint32_t block);
  RegionFlush::Place locate(InstructionBuilder& code, uint32_t block, uint32_t region,
                            uint32_t wanted);
  void note_primitive(InstructionBuilder& code, uint32_t header, uint32_t block, uint32_t region,
                      uint32_t address);
  void note_lanes(InstructionBuilder& code);
  void stop_clock(InstructionBuilder& code);
  uint32_t is_wanted(InstructionBuilder& code, uint32_t wanted,
                     std::initializer_list<catalogue::Number> some);
  uint32_t has_bits(InstructionBuilder& code, uint32_t value, uint32_t bits);
  void count_invocations(InstructionBuilder& code, uint32_t block);
  void note_discard(InstructionBuilder& code);
  void flush_masked(InstructionBuilder& code, uint32_t block);
  void flush(InstructionBuilder& code, uint32_t block);

  PassContext& context_;
  Builtins& builtins_;
  HelperMask& helper_mask_;
  const TaggedRecordPointers& pointers_;
  SubgroupCode subgroup_;
  RegionPlace place_;
  bool together_;  // the lanes of a subgroup sum before they write
  bool masked_;    // ... for a driver that executes both sides of branches
  uint32_t uvec2_;
  uint32_t begin_function_, flush_function_;
  std::optional<PrimitiveSet> primitives_;
  std::vector<Counter> counters_;
  std::vector<uint32_t> counter_variables_;  // by counter; or kEveryInvocation
  std::vector<uint32_t> variables_;          // ids
  std::vector<RegionValue> values_;
  // Indices into variables_: where the invocation adds (RegionFlush::Place).
  uint32_t wanted_ = kNone;
  std::array<uint32_t, 2> address_{kNone, kNone};
  // Indices into variables_: what it has noted.
  uint32_t bytes_ = kNone, discarded_ = kNone, clock_ = kNone;
};

}  // namespace tally::spirv
