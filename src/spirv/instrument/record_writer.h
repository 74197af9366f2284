// How instrumented code reaches its record (probe/record.h) and adds to the record's counters.
//
// The address word is read where it is needed and never leaves the shader's own functions, so
// nothing of the application's memory model changes. Pointers are made from two 32-bit words: no
// 64-bit arithmetic is needed to find a counter.
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
  // `number`: null if draws have none. `counters`: CounterPlan::counter_count.
  RecordWriter(PassContext& context, Builtins& builtins, const TaggedRecordPointers& words,
               PackedDrawIndex* number, uint32_t counters);

  // The address word of the draw's own record, two 32-bit words, and whether it is set at all.
  uint32_t load_record_pointer(InstructionBuilder& code);
  uint32_t is_set(InstructionBuilder& code, uint32_t record_pointer) {
    return words_.is_set(code, record_pointer);
  }
  // 1, without a compiler's knowing that it is.
  uint32_t opaque_one(InstructionBuilder& code);
  // Whether the lanes of a subgroup may belong to different draws, each with its record; then they
  // do where the low halves of their address words differ.
  bool may_be_mixed() const {
    return number_ != nullptr && !context_.options.driver.keeps_draws_apart;
  }
  // The address of this stage's counters in the shard that the invocation adds to.
  uint32_t shard_address(InstructionBuilder& code, uint32_t record_pointer);
  // Adds a 32-bit value, if it is not 0, to a counter.
  void add(InstructionBuilder& code, uint32_t shard_address, uint32_t counter, uint32_t value);
  // Adds a value whatever it is.
  void add_always(InstructionBuilder& code, uint32_t shard_address, uint32_t counter,
                  uint32_t value);

  RecordSpecIds spec_ids() const { return {first_counter_.spec_id, stride_.spec_id}; }

 private:
  void make_counters_type(uint32_t counters);
  void make_add_function();
  // One of the words of a shard.
  uint32_t counter_pointer(InstructionBuilder& code, uint32_t pointer, uint32_t index);
  // `value` is one 64-bit word.
  void emit_add_64(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
  void emit_add_32(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
  uint32_t high_word(InstructionBuilder& code, uint32_t pointer, uint32_t counter);
  uint32_t shard(InstructionBuilder& code, uint32_t shards_log2);

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  const TaggedRecordPointers& words_;
  PackedDrawIndex* number_;
  PhysicalMemory memory_;
  uint32_t boolean_, u32_, uvec2_;
  uint32_t counter_type_ = 0;           // what an atomic adds to
  uint32_t counters_pointer_type_ = 0;  // to a shard
  uint32_t add_function_ = 0;
  Editor::SpecConstant first_counter_{}, stride_{};
};

}  // namespace tally::spirv
