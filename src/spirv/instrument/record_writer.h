// The code that finds the record of a draw (probe/record.h) and adds to its counters.
//
// The tagged record pointer is read where it is needed, so the application's memory model does not
// change. Addresses are computed as two 32-bit words, without 64-bit arithmetic.
#pragma once

#include "spirv/instrument/builtins.h"
#include "spirv/instrument/context.h"
#include "spirv/instrument/packed_draw_index.h"
#include "spirv/instrument/physical_memory.h"
#include "spirv/instrument/record_spec_ids.h"
#include "spirv/instrument/tagged_record_pointers.h"

namespace tally::spirv {

class RecordWriter {
 public:
  // `draw_index`: null without packed draw indices. `counters`: CounterPlan::counter_count.
  RecordWriter(PassContext& context, Builtins& builtins, const TaggedRecordPointers& pointers,
               PackedDrawIndex* draw_index, uint32_t counters);

  // The tagged pointer to the record of this draw, two 32-bit words, and whether it is set.
  uint32_t load_record_pointer(InstructionBuilder& code);
  uint32_t is_set(InstructionBuilder& code, uint32_t record_pointer) {
    return pointers_.is_set(code, record_pointer);
  }
  // The value 1, which the compiler cannot know to be 1.
  uint32_t opaque_one(InstructionBuilder& code);
  // Whether the lanes of a subgroup may belong to different draws with different records. They do
  // if the low words of their record pointers differ.
  bool may_be_mixed() const {
    return draw_index_ != nullptr && !context_.options.driver.keeps_draws_apart;
  }
  // The address of this stage's counters in the invocation's shard.
  uint32_t shard_address(InstructionBuilder& code, uint32_t record_pointer);
  // Adds a 32-bit value to a counter, unless it is 0.
  void add(InstructionBuilder& code, uint32_t shard_address, uint32_t counter, uint32_t value);
  // Adds a 32-bit value to a counter, even if it is 0.
  void add_always(InstructionBuilder& code, uint32_t shard_address, uint32_t counter,
                  uint32_t value);

  RecordSpecIds spec_ids() const { return {first_counter_.spec_id, stride_.spec_id}; }

 private:
  void make_counters_type(uint32_t counters);
  void make_add_function();
  // A pointer to a word of a shard.
  uint32_t counter_pointer(InstructionBuilder& code, uint32_t pointer, uint32_t index);
  // `value` is one 64-bit word.
  void emit_add_64(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
  void emit_add_32(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
  uint32_t high_word(InstructionBuilder& code, uint32_t pointer, uint32_t counter);
  uint32_t shard(InstructionBuilder& code, uint32_t shards_log2);

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  const TaggedRecordPointers& pointers_;
  PackedDrawIndex* draw_index_;
  PhysicalMemory memory_;
  uint32_t boolean_, u32_, uvec2_;
  uint32_t counter_type_ = 0;           // the type of the atomics
  uint32_t counters_pointer_type_ = 0;  // to a shard
  uint32_t add_function_ = 0;
  Editor::SpecConstant first_counter_{}, stride_{};
};

}  // namespace tally::spirv
