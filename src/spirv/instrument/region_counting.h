// Counting by region of the framebuffer: what VK_ARM_performance_counters_by_region counts of a
// fragment shader. A part of the block-count pass (block_count.h), beside the counts of blocks or
// without them.
//
// An invocation counts in private variables, as it does for blocks, and adds when it ends what the
// region's counters make of them to the accumulators of its region (probe/region.h): a counter of
// instructions is a sum of block counts times what the blocks cost, so few variables serve all
// counters. Only counters that the render pass wants cost an addition. All is modulo 2^32.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "spirv/instrument/builtins.h"
#include "spirv/instrument/counting.h"
#include "spirv/instrument/primitive_set.h"
#include "spirv/instrument/region_place.h"
#include "spirv/instrument/region_values.h"
#include "spirv/instrument/tagged_record_pointers.h"

namespace tally::spirv {

class RegionCounting {
 public:
  RegionCounting(PassContext& context, Builtins& builtins, HelperMask& helper_mask,
                 const TaggedRecordPointers& words);
  // Places the counters; call first.
  Status plan();

  std::span<const Counter> counters() const { return counters_; }

  // Where the entry point begins, after HelperMask::begin.
  void begin(InstructionBuilder& code);
  // Where the segment of counter number `counter` begins.
  void count(InstructionBuilder& code, uint32_t counter);
  // Before a way out.
  void leave(InstructionBuilder& code, const Exit& way);
  // Adds the functions; called once, at the end.
  void finish();

 private:
  // What a region's accumulators are found by.
  struct Place {
    uint32_t live = 0;     // boolean: a live invocation within the regions
    uint32_t region = 0;   // index of the region, layers included
    uint32_t address = 0;  // of the accumulators of region 0
    uint32_t wanted = 0;   // bits
  };

  uint32_t new_variable();
  void add_variable_value(catalogue::Number number, uint32_t variable);

  uint32_t constant(uint32_t value) const { return editor_.constant_u32(value); }
  uint32_t binary(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const;
  uint32_t compare(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const;
  uint32_t both(InstructionBuilder& code, uint32_t a, uint32_t b) const;
  template <typename Body>
  void add_function(uint32_t id, std::string_view name, Body&& body);
  void note_beginning(InstructionBuilder& code, uint32_t header, uint32_t block);
  void note_primitive(InstructionBuilder& code, uint32_t header, uint32_t block, uint32_t region);
  void note_lanes(InstructionBuilder& code);
  void stop_clock(InstructionBuilder& code);
  uint32_t read_clock(InstructionBuilder& code);
  uint32_t is_wanted(InstructionBuilder& code, uint32_t wanted,
                     std::initializer_list<catalogue::Number> some);
  void flush(InstructionBuilder& code, uint32_t block);
  void add_alone(InstructionBuilder& code, const Place& place);
  void add_together(InstructionBuilder& code, const Place& place);
  void add_of_region(InstructionBuilder& code, const Place& place, uint32_t region, uint32_t mine);
  uint32_t sum_of_lanes(InstructionBuilder& code, const RegionValue& value, uint32_t mine,
                        uint32_t lanes);
  uint32_t own_value(InstructionBuilder& code, const RegionValue& value);
  template <typename Body>
  void if_wanted(InstructionBuilder& code, const Place& place, const RegionValue& value,
                 Body&& body);

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  HelperMask& helper_mask_;
  const TaggedRecordPointers& words_;
  SubgroupCode subgroup_;
  RegionPlace place_;
  bool together_;  // the lanes of a subgroup add up before they write
  uint32_t boolean_, u32_, uvec2_;
  uint32_t begin_function_, flush_function_;
  std::optional<PrimitiveSet> primitives_;
  std::vector<Counter> counters_;
  std::vector<uint32_t> counter_variables_;  // by counter; or kEveryInvocation
  std::vector<uint32_t> variables_;          // ids
  std::vector<RegionValue> values_;
  // Indices into variables_.
  uint32_t region_ = kNone;  // where the invocation is, found when it begins
  uint32_t first_lane_ = kNone, helpers_ = kNone, discarded_ = kNone, clock_ = kNone;
};

}  // namespace tally::spirv
