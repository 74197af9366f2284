// The code that finds the record of a draw (probe/record.h) and adds to its counters.
//
// The tagged record pointer is read where it is needed, so the application's memory model does not
// change. An address is a base that all lanes share and a 32-bit offset: compilers for AMD keep the
// base in scalar registers. The code adds the offset once, at the access.
#pragma once

#include "spirv/instrument/builtins.h"
#include "spirv/instrument/context.h"
#include "spirv/instrument/packed_draw_index.h"
#include "spirv/instrument/physical_memory.h"
#include "spirv/instrument/record_spec_ids.h"
#include "spirv/instrument/tagged_record_pointers.h"

namespace tally::spirv {

// Ids of values in the instrumented code.
struct RecordPointer {
  uint32_t tagged;      // to the record of draw index 0: TaggedRecordPointers::type
  uint32_t draw_bytes;  // from there to the draw's record, or 0 without packed draw indices
};
// This stage's counters in the invocation's shard.
struct ShardAddress {
  uint32_t record;  // of draw index 0: one 64-bit word, or two 32-bit words
  uint32_t bytes;   // from there
};

class RecordWriter {
 public:
  // `draw_index`: null without packed draw indices. `counters`: CounterPlan::counter_count.
  RecordWriter(PassContext& context, Builtins& builtins, const TaggedRecordPointers& pointers,
               PackedDrawIndex* draw_index, uint32_t counters);

  RecordPointer load_record_pointer(InstructionBuilder& code);
  RecordPointer load_in_entry_point(InstructionBuilder& code);
  uint32_t is_set(InstructionBuilder& code, const RecordPointer& record_pointer) {
    return pointers_.is_set(code, record_pointer.tagged);
  }
  // The value 1, which the compiler cannot know to be 1.
  uint32_t opaque_one(InstructionBuilder& code);
  // True if the lanes of a subgroup may belong to different draws with different records. They do
  // if their `draw_bytes` differ.
  bool may_be_mixed() const {
    return draw_index_ != nullptr && !context_.options.driver.keeps_draws_apart;
  }
  ShardAddress shard_address(InstructionBuilder& code, const RecordPointer& record_pointer);
  // The address `counters` counters further on; `counters` is the id of a 32-bit number.
  ShardAddress advance(InstructionBuilder& code, const ShardAddress& from, uint32_t counters);
  // Adds a 32-bit value to a counter, unless it is 0.
  void add(InstructionBuilder& code, const ShardAddress& shard, uint32_t counter, uint32_t value);
  // Adds a 32-bit value to a counter, even if it is 0.
  void add_always(InstructionBuilder& code, const ShardAddress& shard, uint32_t counter,
                  uint32_t value);

  // A pointer to the few counters at an address, and an addition to one of them, even of 0.
  uint32_t members_pointer(InstructionBuilder& code, const ShardAddress& address);
  void add_to_member(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
  void add_one_to_member(InstructionBuilder& code, uint32_t pointer, uint32_t counter);

  RecordSpecIds spec_ids() const { return {first_byte_.spec_id, stride_bytes_.spec_id}; }

 private:
  uint32_t counters_pointer_type();
  uint32_t members_pointer_type();
  uint32_t new_pointer_type(uint32_t block);
  void make_add_function();
  uint32_t counters_pointer(InstructionBuilder& code, const ShardAddress& address);
  uint32_t pointer_at(InstructionBuilder& code, const ShardAddress& address, uint32_t type);
  void add_at(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
  void add_word_to_member(InstructionBuilder& code, uint32_t pointer, uint32_t counter,
                          uint32_t word);
  uint32_t shard_of(InstructionBuilder& code, const RecordPointer& record_pointer);
  uint32_t record_type();
  uint32_t record_address(InstructionBuilder& code, uint32_t tagged);
  // A pointer to a word of the counters.
  uint32_t word_pointer(InstructionBuilder& code, uint32_t pointer, uint32_t index);
  void emit_add_64(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
  void emit_add_32(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
  bool has_shards() const;
  // True if the shard is the number of the streaming multiprocessor.
  bool follows_from_sm() const;
  uint32_t shard_terms(InstructionBuilder& code);
  uint32_t shard(InstructionBuilder& code, uint32_t shards_log2);
  uint32_t emit(InstructionBuilder& code, spv::Op opcode, uint32_t one, uint32_t other) {
    return code.emit(opcode, u32_, {one, other});
  }

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  const TaggedRecordPointers& pointers_;
  PackedDrawIndex* draw_index_;
  PhysicalMemory memory_;
  uint32_t boolean_, u32_, uvec2_;
  uint32_t counters_;      // number of them
  uint32_t counter_type_;  // the type of the atomics
  // 0 until they are needed: types of pointers to the counters of a shard, and the function.
  uint32_t counters_pointer_type_ = 0, members_pointer_type_ = 0, add_function_ = 0;
  Editor::SpecConstant first_byte_{}, stride_bytes_{};
};

}  // namespace tally::spirv
