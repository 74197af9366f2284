// The code that finds the record of a draw (probe/record.h) and adds to its counters.
//
// The tagged record pointer is read where it is needed, so the application's memory model does not
// change. An address is a base that all lanes share and a 32-bit offset: compilers for AMD keep the
// base in scalar registers. The code adds the offset once, at the access.
#pragma once

#include "base/status.h"
#include "spirv/instrument/context.h"
#include "spirv/plan/counter_plan.h"
#include "spirv/plan/options.h"

namespace tally::spirv {

// The tagged pointers that instrumented code reads: to its record, and after it to the region
// block or to the sets of virtual subgroups, in a push constant or at the start of a uniform
// buffer.

// True if the application's push constants go to memory (AddressSource::block_address).
bool moves_push_constants(const Module& module, const EntryPoint& entry,
                          const AddressSource& address);

class TaggedRecordPointers {
 public:
  // The record of the block counts, the block of the region counters (probe/region.h), and, in
  // compute shaders, LaneSets.
  enum class Kind : uint32_t { Record, Region, LaneSets = Region };

  // Has two pointers if the pass counts by region or for virtual subgroups.
  static Result<TaggedRecordPointers> make(PassContext& context);

  // A pointer of type(), its lower 32 bits, and whether it is set.
  uint32_t load(InstructionBuilder& code, Kind kind) const;
  uint32_t low_word(InstructionBuilder& code, uint32_t pointer) const;
  uint32_t is_set(InstructionBuilder& code, uint32_t record_pointer) const;
  // Not 0 if the upper 16 bits of the instance index hold the packed draw index: kNumberedDraws.
  uint32_t numbered_draws(InstructionBuilder& code, uint32_t record_pointer) const;
  // The pointer as a 64-bit word. The module has the capability Int64.
  uint32_t as_u64(InstructionBuilder& code, uint32_t pointer) const;
  // ... as two 32-bit words.
  uint32_t as_words(InstructionBuilder& code, uint32_t pointer) const;

 private:
  explicit TaggedRecordPointers(PassContext& context);
  Status make_push_constant();
  void make_uniform_buffer();
  uint32_t new_pointers_struct() const;

  Editor& editor_;
  const PassContext& context_;
  uint32_t u32_;
  bool two_;
  bool wide_;
  uint32_t type_;
  uint32_t variable_ = 0;
  uint32_t member_ = 0;
  spv::StorageClass storage_ = spv::StorageClass::PushConstant;
};

// The index of a draw among those with contiguous records (probe/record.h), by which the vertex and
// fragment stages find their record.
//
// The vertex stage reads it from the upper 16 bits of its instance index if a tag of the record
// pointer says so; otherwise the index is 0. The code has it as the distance between the records of
// draw index 0 and of the draw, in bytes. The fragment stage gets that from the vertex stage.

class PackedDrawIndex {
 public:
  // BlockCountOptions::packed_draw_indices is set.
  PackedDrawIndex(PassContext& context, Builtins& builtins, const TaggedRecordPointers& pointers);

  // At the start of the entry point.
  void begin(InstructionBuilder& code);
  // The distance, from the tagged pointer to the record of draw index 0.
  uint32_t read(InstructionBuilder& code, uint32_t record_pointer);
  // The same in the entry point.
  uint32_t read_in_entry_point(InstructionBuilder& code, uint32_t record_pointer) {
    return at_start_ != 0 ? at_start_ : read(code, record_pointer);
  }

 private:
  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  const TaggedRecordPointers& pointers_;
  uint32_t u32_;
  uint32_t variable_ = 0;  // the output or input that passes the distance, or 0
  uint32_t at_start_ = 0;  // the distance at the start of the entry point, or 0
};

// Masks the packed draw index (probe/record.h) out of the instance index and base instance that the
// application's vertex shader reads.

// Fails if the shader uses one of them in an unsupported way.
Status hide_packed_draw_index(PassContext& context, const TaggedRecordPointers& pointers);

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
  // `draw_index`: null without packed draw indices.
  RecordWriter(PassContext& context, Builtins& builtins, const TaggedRecordPointers& pointers,
               PackedDrawIndex* draw_index, const CounterPlan& plan);

  RecordPointer load_record_pointer(InstructionBuilder& code);
  RecordPointer load_in_entry_point(InstructionBuilder& code);
  uint32_t is_set(InstructionBuilder& code, const RecordPointer& record_pointer) {
    return pointers_.is_set(code, record_pointer.tagged);
  }
  // The address of the sets as two 32-bit words. Only if the record pointer is set.
  uint32_t load_lane_sets(InstructionBuilder& code) const {
    const uint32_t pointer = pointers_.load(code, TaggedRecordPointers::Kind::LaneSets);
    return pointers_.as_words(code, pointer);
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

  // Adds a 64-bit value, even if it is 0, where PassContext::use_int64.
  void add_wide(InstructionBuilder& code, const ShardAddress& shard, uint32_t counter,
                uint32_t value);

  // Raises a counter to a 32-bit value, in the first shard alone. Such a counter is in no sum.
  void raise(InstructionBuilder& code, const RecordPointer& record_pointer, uint32_t counter,
             uint32_t value);

  // Sets bits of a 32-bit word of the counters, in the first shard alone, unless they are set.
  void set_bits(InstructionBuilder& code, const RecordPointer& record_pointer, uint32_t word,
                uint32_t bits);

  // A pointer to the few counters at an address, and an addition to one of them, even of 0.
  uint32_t members_pointer(InstructionBuilder& code, const ShardAddress& address);
  void add_to_member(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
  void add_one_to_member(InstructionBuilder& code, uint32_t pointer, uint32_t counter);
  void add_word_to_member(InstructionBuilder& code, uint32_t pointer, uint32_t counter,
                          uint32_t word);

  RecordSpecIds spec_ids() const { return {first_byte_.spec_id, stride_bytes_.spec_id}; }

 private:
  uint32_t counters_pointer_type();
  uint32_t members_pointer_type();
  uint32_t array_pointer_type(uint32_t type, uint32_t bytes);
  ShardAddress first_shard(InstructionBuilder& code, const RecordPointer& record_pointer);
  uint32_t new_pointer_type(uint32_t block);
  void make_add_function();
  uint32_t counters_pointer(InstructionBuilder& code, const ShardAddress& address);
  uint32_t pointer_at(InstructionBuilder& code, const ShardAddress& address, uint32_t type);
  void add_at(InstructionBuilder& code, uint32_t pointer, uint32_t counter, uint32_t value);
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
  uint32_t members_;       // those that are not of sites
  uint32_t counter_type_;  // the type of the atomics
  // 0 until they are needed: types of pointers to the counters of a shard, and the function.
  uint32_t counters_pointer_type_ = 0, members_pointer_type_ = 0, words_pointer_type_ = 0;
  uint32_t add_function_ = 0;
  Editor::SpecConstant first_byte_{}, stride_bytes_{};
};

}  // namespace tally::spirv
